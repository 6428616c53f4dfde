#include "experiments/run/finish.h"

#include <exception>
#include <memory>
#include <new>
#include <utility>

namespace syncopate::experiments {

void run_to_end(runtime::Runtime& runtime, std::span<const runtime::HostMain> mains,
                RunResult& result) {
  try {
    runtime.run(mains);
  } catch (const std::bad_alloc&) {
    result.error = "out of memory";
  } catch (const std::exception& error) {
    result.error = error.what();
  }
  result.timeline = runtime.take_timeline();
}

RunResult finished(RunResult result) {
  if (result.error.empty()) return result;
  throw InterruptedRun(std::make_shared<const RunResult>(std::move(result)));
}

}  // namespace syncopate::experiments
