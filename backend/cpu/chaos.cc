#include "backend/cpu/chaos.h"

#include <chrono>
#include <thread>

namespace syncopate::cpu {

void Chaos::pass() {
  using namespace std::chrono;
  const nanoseconds delay(static_cast<std::int64_t>(random_() % 200'000));
  // Short delays keep the core and long ones give it up: both kinds of interleaving come up.
  if (delay > microseconds(50)) {
    std::this_thread::sleep_for(delay);
    return;
  }
  const auto end = steady_clock::now() + delay;
  while (steady_clock::now() < end) {
  }
}

}  // namespace syncopate::cpu
