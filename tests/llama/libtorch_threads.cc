// Every product here is tiny, and streams are threads of their own: a team of libtorch's threads
// for each would only wait for one another.
#include <ATen/Parallel.h>

namespace {
const bool kOneThread = (at::set_num_threads(1), true);
}
