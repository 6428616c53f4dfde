// Measures the program itself: steps of the batcher with the model to calibrate for.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "backend/batching/request.h"
#include "backend/models/batch_layout.h"
#include "backend/models/model.h"
#include "experiments/calibrate/machine.h"

namespace syncopate::experiments {

/// A step, and medians over the rounds of what it took, in microseconds. Without end tokens a
/// strategy schedules in the same way whatever the timing, so that a step is the same work in every
/// round.
struct MeasuredStep {
  batching::StepRecord record;
  double pause = 0;    ///< Of the device, from the end of the step before to the start of this one.
  double prepare = 0;  ///< Host spans.
  double update = 0;
  double forward = 0;  ///< Device.
  double carry = 0;    ///< Device; 0 when ordered, which has none.
};

/// Medians over all steps and rounds of the ordered programs, in microseconds. A step there is:
/// copy in, record, wait, graph, record, wait, copy out, record, block; each stream idle when its
/// part comes. Kinds of calls that come twice have the mean of both.
struct MeasuredCalls {
  double copy = 0;
  double graph_launch = 0;   ///< Of the step's graph, which has one node.
  double kernel_launch = 0;  ///< Of the asynchronous program without graphs.
  double record = 0;
  double wait = 0;
  double launch_latency = 0;  ///< End of the first copy's call to its start.
  double handover = 0;        ///< End of the step to the start of the copy that waits for it.
  double wake = 0;            ///< End of that copy to the end of the host's wait for it.
};

struct MeasuredProgram {
  std::vector<MeasuredStep> steps;  ///< Those of the asynchronous program and of each ordered one.
  MeasuredCalls calls;
};

/// Requests that fill a batch of `limits` with all mixtures that are likely in it: 1 to all rows,
/// prompts from one token to as many as a step and the pages can take, prompts that join rows which
/// decode; and once all rows with `entries` KV entries each, as far as pages and a bound on the
/// time that it takes allow. No end tokens. Throws runtime::UsageError where the limits leave no
/// room for a request.
std::vector<batching::Request> calibration_requests(const models::BatchLimits& limits,
                                                    const models::Model& model,
                                                    std::uint64_t entries);

/// Runs the program on `requests`, turn about: asynchronous without graphs, where steps follow each
/// other at once, and ordered with graphs, where each comes after a pause, in which the host burns
/// 0, 1/4, 1/2, 1 and 2 times a device step. Once to warm up, then 3 to 15 rounds, as many as fit
/// into `budget`.
MeasuredProgram measure_program(const EngineFactory& make_engine, const models::Model& model,
                                const models::BatchLimits& limits,
                                const std::vector<batching::Request>& requests,
                                std::chrono::duration<double> budget,
                                const OnCalibration& on_progress);

}  // namespace syncopate::experiments
