#include <cupti.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

#include "backend/cuda/activity_recorder.h"
#include "backend/cuda/cupti/buffers.h"
#include "backend/cuda/cupti/call.h"
#include "backend/cuda/cupti/records.h"
#include "backend/cuda/device_clock.h"

namespace syncopate::cuda {
namespace {

using runtime::Nanos;

constexpr std::array kKinds = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2,           CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_RUNTIME,           CUPTI_ACTIVITY_KIND_SYNCHRONIZATION};

// Of the driver's calls those that programs and libraries make past the runtime to start work: the
// rest would be many records that explain nothing.
constexpr std::array kDriverCalls = {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
                                     CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
                                     CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
                                     CUPTI_DRIVER_TRACE_CBID_cuStreamWriteValue64_v2,
                                     CUPTI_DRIVER_TRACE_CBID_cuStreamWaitValue64_v2};

constexpr auto kCloned = CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED;

class CuptiRecorder;
std::atomic<CuptiRecorder*> recorder = nullptr;  // CUPTI's callbacks for buffers carry nothing

class CuptiRecorder final : public ActivityRecorder {
 public:
  explicit CuptiRecorder(const ActivityOptions& options)
      : buffers_(options.buffers, options.buffer_bytes) {
    SYNCOPATE_CUDA_CALL(cuptiSubscribe(&subscriber_, on_resource, this));
    recorder = this;
    try {
      SYNCOPATE_CUDA_CALL(cuptiEnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, kCloned));
      SYNCOPATE_CUDA_CALL(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM));
      SYNCOPATE_CUDA_CALL(cuptiActivityRegisterTimestampCallback(
          [] { return static_cast<std::uint64_t>(steady_now()); }));
      SYNCOPATE_CUDA_CALL(cuptiActivityRegisterCallbacks(on_request, on_complete));
      std::uint8_t zeroed = 1;  // fresh memory is: CUPTI need not fill it in the host's time
      std::size_t size = sizeof zeroed;
      SYNCOPATE_CUDA_CALL(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER,
                                                    &size, &zeroed));
    } catch (...) {
      detach();
      throw;
    }
  }

  ~CuptiRecorder() override { detach(); }

  void name_host(int host) override {
    const std::lock_guard lock(mutex_);
    names_.hosts[static_cast<std::uint32_t>(::gettid())] = static_cast<std::uint16_t>(host);
  }

  void name_stream(cudaStream_t native, runtime::Stream stream, int gpu) override {
    CUcontext context = nullptr;
    SYNCOPATE_CUDA_CALL(cuCtxGetCurrent(&context));
    std::uint32_t id = 0;
    const cudaStream_t named = native == cudaStreamLegacy ? nullptr : native;
    SYNCOPATE_CUDA_CALL(cuptiGetStreamIdEx(context, named, 0, &id));
    names_.streams[stream_key(static_cast<std::uint32_t>(gpu), id)] = stream;
  }

  void name_nodes(cudaStream_t native, std::uint16_t node) override {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaGraph_t graph = nullptr;
    SYNCOPATE_CUDA_CALL(
        cudaStreamGetCaptureInfo(native, &status, nullptr, &graph, nullptr, nullptr, nullptr));
    std::size_t count = 0;
    SYNCOPATE_CUDA_CALL(cudaGraphGetNodes(graph, nullptr, &count));
    std::vector<cudaGraphNode_t> nodes(count);
    SYNCOPATE_CUDA_CALL(cudaGraphGetNodes(graph, nodes.data(), &count));
    const std::lock_guard lock(mutex_);
    for (const cudaGraphNode_t part : nodes) {
      std::uint64_t id = 0;
      SYNCOPATE_CUDA_CALL(cuptiGetGraphNodeId(part, &id));
      names_.graph_nodes.try_emplace(id, node);  // those of before keep theirs
    }
  }

  void start() override {
    for (const CUpti_ActivityKind kind : kKinds) SYNCOPATE_CUDA_CALL(cuptiActivityEnable(kind));
    for (const auto call : kDriverCalls) SYNCOPATE_CUDA_CALL(cuptiActivityEnableDriverApi(call, 1));
  }

  void stop() override {
    for (const auto call : kDriverCalls) SYNCOPATE_CUDA_CALL(cuptiActivityEnableDriverApi(call, 0));
    for (const CUpti_ActivityKind kind : kKinds) SYNCOPATE_CUDA_CALL(cuptiActivityDisable(kind));
  }

  runtime::Activities take(runtime::Timeline& timeline, Nanos origin) override {
    SYNCOPATE_CUDA_CALL(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
    runtime::Activities result;
    RecordReader reader(names_, timeline, origin, result.records);
    for (const std::span<std::uint8_t> buffer : buffers_.filled()) {
      CUpti_Activity* record = nullptr;
      for (;;) {
        const CUptiResult status =
            cuptiActivityGetNextRecord(buffer.data(), buffer.size(), &record);
        if (status == CUPTI_ERROR_MAX_LIMIT_REACHED) break;  // the end
        SYNCOPATE_CUDA_CALL(status);
        reader.add(*record);
      }
    }
    std::size_t dropped = 0;
    SYNCOPATE_CUDA_CALL(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped));
    result.dropped = std::max(dropped, buffers_.refused());
    return result;
  }

 private:
  static void CUPTIAPI on_request(std::uint8_t** buffer, std::size_t* size,
                                  std::size_t* most_records) {
    CuptiRecorder* self = recorder;
    *buffer = self ? self->buffers_.take() : nullptr;
    *size = *buffer ? self->buffers_.buffer_bytes() : 0;
    *most_records = 0;  // as many as fit
  }

  static void CUPTIAPI on_complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                                   std::size_t used) {
    if (CuptiRecorder* self = recorder; self && buffer) self->buffers_.give_back(buffer, used);
  }

  // An executable graph has copies of the captured nodes, and records name the copies.
  static void CUPTIAPI on_resource(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                   const void* data) {
    if (domain != CUPTI_CB_DOMAIN_RESOURCE || id != kCloned) return;
    const auto& graph = *static_cast<const CUpti_GraphData*>(
        static_cast<const CUpti_ResourceData*>(data)->resourceDescriptor);
    std::uint64_t original = 0;
    std::uint64_t copy = 0;
    if (cuptiGetGraphNodeId(graph.originalNode, &original) != CUPTI_SUCCESS ||
        cuptiGetGraphNodeId(graph.node, &copy) != CUPTI_SUCCESS) {
      return;
    }
    auto& recorder_of_call = *static_cast<CuptiRecorder*>(self);
    const std::lock_guard lock(recorder_of_call.mutex_);
    auto& nodes = recorder_of_call.names_.graph_nodes;
    if (const auto found = nodes.find(original); found != nodes.end()) {
      const std::uint16_t node = found->second;
      nodes[copy] = node;
    }
  }

  // Errors repeat what an earlier call has thrown.
  void detach() {
    cuptiUnsubscribe(subscriber_);
    cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    recorder = nullptr;
  }

  RecordBuffers buffers_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::mutex mutex_;  // names_ while the program runs
  RecordNames names_;
};

}  // namespace

std::string activities_missing() { return ""; }

std::unique_ptr<ActivityRecorder> make_activity_recorder(const ActivityOptions& options) {
  return std::make_unique<CuptiRecorder>(options);
}

}  // namespace syncopate::cuda
