// A file of its own: it is compiled again at every new revision.
#include "experiments/run/revision.h"

#include "syncopate_revision.h"

namespace syncopate::experiments {

const char* revision() { return SYNCOPATE_REVISION; }

}  // namespace syncopate::experiments
