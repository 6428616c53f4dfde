#include "backend/cuda/cupti/records.h"

#include <cxxabi.h>

#include <cstdlib>
#include <string_view>

#include "backend/cuda/cupti/call.h"

namespace syncopate::cuda {
namespace {

using runtime::Activity;
using runtime::ActivityKind;
using runtime::Name;
using runtime::Nanos;

std::string demangled(const char* symbol) {
  int status = 0;
  char* text = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  std::string result = status == 0 ? text : symbol;
  std::free(text);
  return result;
}

// CUPTI adds the version that a call came with: cudaLaunchKernel_v7000, cuMemFree_v2.
std::string call_name(bool driver, CUpti_CallbackId id) {
  const char* text = nullptr;
  const auto domain = driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
  if (cuptiGetCallbackName(domain, id, &text) != CUPTI_SUCCESS || text == nullptr) {
    return (driver ? "driver call " : "runtime call ") + std::to_string(id);
  }
  std::string name = text;
  const std::size_t version = name.rfind("_v");
  if (version != std::string::npos &&
      name.find_first_not_of("0123456789", version + 2) == std::string::npos) {
    name.resize(version);
  }
  return name;
}

std::string_view memory_name(unsigned kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
      return "Pageable";
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
      return "Pinned";
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
      return "Device";
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
      return "Array";
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
      return "Managed";
    default:
      return "Unknown";
  }
}

std::string_view direction_name(unsigned kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "HtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "DtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return "DtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
      return "HtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return "PtoP";
    default:
      return "Unknown";
  }
}

// As PyTorch's profiler names copies: tools take them apart.
std::string copy_name(unsigned direction, unsigned from, unsigned to) {
  std::string name = "Memcpy ";
  name += direction_name(direction);
  name += " (";
  name += memory_name(from);
  name += " -> ";
  name += memory_name(to);
  return name + ')';
}

Name sync_name(CUpti_ActivitySynchronizationType type) {
  switch (type) {
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE:
      return "Event Sync";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT:
      return "Stream Wait Event";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE:
      return "Stream Sync";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE:
      return "Context Sync";
    default:
      return "Unknown Sync";
  }
}

Nanos nanos(std::uint64_t time) { return static_cast<Nanos>(time); }

// CUPTI's records start with their kind, and say by it what they are.
template <class Record>
const Record& as(const CUpti_Activity& record) {
  return reinterpret_cast<const Record&>(record);
}

}  // namespace

void RecordReader::add(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return add_call(as<CUpti_ActivityAPI>(record), false);
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return add_call(as<CUpti_ActivityAPI>(record), true);
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = as<CUpti_ActivityKernel10>(record);
      const auto [entry, added] = kernels_.try_emplace(kernel.name);
      if (added) entry->second = keep(demangled(kernel.name));
      add_work(kernel, ActivityKind::kKernel, entry->second);
      return;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = as<CUpti_ActivityMemcpy6>(record);
      add_work(copy, ActivityKind::kCopy,
               keep(copy_name(copy.copyKind, copy.srcKind, copy.dstKind)))
          .bytes = copy.bytes;
      return;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
      const auto& copy = as<CUpti_ActivityMemcpyPtoP4>(record);
      add_work(copy, ActivityKind::kCopy,
               keep(copy_name(copy.copyKind, copy.srcKind, copy.dstKind)))
          .bytes = copy.bytes;
      return;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& fill = as<CUpti_ActivityMemset4>(record);
      std::string name = "Memset (";
      name += memory_name(fill.memoryKind);
      add_work(fill, ActivityKind::kFill, keep(name + ')')).bytes = fill.bytes;
      return;
    }
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: {
      const auto& sync = as<CUpti_ActivitySynchronization2>(record);
      Activity& activity = activities_.emplace_back();
      activity.name = sync_name(sync.type);
      activity.kind = ActivityKind::kSync;
      activity.correlation = sync.correlationId;
      activity.native_stream = sync.streamId;
      activity.start = nanos(sync.start) - origin_;
      activity.end = nanos(sync.end) - origin_;
      return;
    }
    default:
      return;
  }
}

void RecordReader::add_call(const CUpti_ActivityAPI& record, bool driver) {
  const auto host = names_.hosts.find(record.threadId);
  if (host == names_.hosts.end()) return;
  Activity& activity = activities_.emplace_back();
  activity.name = keep(call_name(driver, record.cbid));
  activity.kind = driver ? ActivityKind::kDriverCall : ActivityKind::kRuntimeCall;
  activity.device = host->second;
  activity.correlation = record.correlationId;
  activity.start = nanos(record.start) - origin_;
  activity.end = nanos(record.end) - origin_;
}

template <class Record>
Activity& RecordReader::add_work(const Record& record, ActivityKind kind, Name name) {
  Activity& activity = activities_.emplace_back();
  activity.name = name;
  activity.kind = kind;
  activity.device = static_cast<std::uint16_t>(record.deviceId);
  activity.correlation = record.correlationId;
  activity.native_stream = record.streamId;
  const auto stream = names_.streams.find(stream_key(record.deviceId, record.streamId));
  if (stream != names_.streams.end()) activity.stream = stream->second;
  if (record.graphNodeId != 0) {
    const auto node = names_.graph_nodes.find(record.graphNodeId);
    if (node != names_.graph_nodes.end()) activity.node = node->second;
  }
  activity.start = nanos(record.start) - origin_;
  activity.end = nanos(record.end) - origin_;
  return activity;
}

Name RecordReader::keep(const std::string& text) {
  const auto [entry, added] = kept_.try_emplace(text);
  if (added) entry->second = timeline_.intern(text);
  return entry->second;
}

}  // namespace syncopate::cuda
