// For a toolkit without CUPTI.
#include "backend/cuda/activity_recorder.h"
#include "backend/runtime/error.h"

namespace syncopate::cuda {

std::string activities_missing() { return "built without CUPTI"; }

std::unique_ptr<ActivityRecorder> make_activity_recorder(const ActivityOptions&) {
  throw runtime::UnavailableError("kernels cannot be recorded: " + activities_missing());
}

}  // namespace syncopate::cuda
