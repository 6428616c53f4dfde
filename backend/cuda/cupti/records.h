// From CUPTI's records to activities.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <string>
#include <unordered_map>

#include "backend/runtime/activity.h"
#include "backend/runtime/timeline.h"

namespace syncopate::cuda {

/// What CUPTI's numbers stand for.
struct RecordNames {
  std::unordered_map<std::uint32_t, std::uint16_t> hosts;        ///< By the system's thread id.
  std::unordered_map<std::uint64_t, runtime::Stream> streams;    ///< By stream_key().
  std::unordered_map<std::uint64_t, std::uint16_t> graph_nodes;  ///< By node id.
};

/// Stream ids count in each context; there is one context a device.
constexpr std::uint64_t stream_key(std::uint32_t device, std::uint32_t stream) {
  return std::uint64_t{device} << 32 | stream;
}

/// Turns records into activities, one by one.
class RecordReader {
 public:
  /// All outlive the reader. Times become those since `origin`.
  RecordReader(const RecordNames& names, runtime::Timeline& timeline, runtime::Nanos origin,
               runtime::Log<runtime::Activity>& activities)
      : names_(names), timeline_(timeline), origin_(origin), activities_(activities) {}

  /// Adds `record` if it is of a kind that was asked for and, if a call, a host's.
  void add(const CUpti_Activity& record);

 private:
  void add_call(const CUpti_ActivityAPI& record, bool driver);
  /// What kernels, copies and fills have in common.
  template <class Record>
  runtime::Activity& add_work(const Record& record, runtime::ActivityKind kind, runtime::Name name);
  runtime::Name keep(const std::string& text);

  const RecordNames& names_;
  runtime::Timeline& timeline_;
  const runtime::Nanos origin_;
  runtime::Log<runtime::Activity>& activities_;
  std::unordered_map<std::string, runtime::Name> kept_;
  std::unordered_map<const char*, runtime::Name> kernels_;  // by CUPTI's own text
};

}  // namespace syncopate::cuda
