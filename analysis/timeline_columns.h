// The columns of timeline.json: which field each one holds. Both the writer and the reader go by
// these lists, so that they cannot differ.
#pragma once

#include <array>
#include <string_view>

#include "backend/runtime/timeline.h"

namespace syncopate::analysis {

inline constexpr std::string_view kTimelineFormat = "syncopate-timeline";
inline constexpr int kTimelineVersion = 1;

/// Names of an enumeration's values, in order.
template <class E>
struct EnumNames;
template <>
struct EnumNames<runtime::OperationKind> {
  static constexpr std::string_view kKey = "operation_kinds";
  static constexpr std::array<std::string_view, 9> kNames = {
      "kernel", "h2d", "d2h", "d2d", "peer", "graph", "graph_node", "host_span", "host_block"};
};
template <>
struct EnumNames<runtime::CallType> {
  static constexpr std::string_view kKey = "call_types";
  static constexpr std::array<std::string_view, 9> kNames = {
      "enqueue", "record", "wait", "signal", "wait_flag", "block", "seen", "span", "block_flag"};
};
template <>
struct EnumNames<runtime::NodeType> {
  static constexpr std::string_view kKey = "node_types";
  static constexpr std::array<std::string_view, 4> kNames = {"kernel", "copy", "signal",
                                                             "wait_flag"};
};
template <>
struct EnumNames<runtime::StreamKind> {
  static constexpr std::string_view kKey = "stream_kinds";
  static constexpr std::array<std::string_view, 3> kNames = {"legacy_default", "blocking",
                                                             "non_blocking"};
};
template <>
struct EnumNames<runtime::Memory> {
  static constexpr std::string_view kKey = "memories";
  static constexpr std::array<std::string_view, 3> kNames = {"device", "pinned", "pageable"};
};
/// Only in timelines that have activities.
template <>
struct EnumNames<runtime::ActivityKind> {
  static constexpr std::string_view kKey = "activity_kinds";
  static constexpr std::array<std::string_view, 6> kNames = {"kernel",       "copy",        "fill",
                                                             "runtime_call", "driver_call", "sync"};
};

/// Calls visit.operator()<E>() for each enumeration that every timeline has.
template <class Visit>
void for_each_enum(Visit&& visit) {
  visit.template operator()<runtime::OperationKind>();
  visit.template operator()<runtime::CallType>();
  visit.template operator()<runtime::NodeType>();
  visit.template operator()<runtime::StreamKind>();
  visit.template operator()<runtime::Memory>();
}

/// Calls visit(name, field) for each column of a row type; std::invoke(field, row) is the field.
template <class Row>
struct Columns;

template <>
struct Columns<runtime::StreamInfo> {
  template <class Visit>
  static void for_each(Visit&& visit) {
    visit("label", &runtime::StreamInfo::label);
    visit("kind", &runtime::StreamInfo::kind);
    visit("device", &runtime::StreamInfo::device);
  }
};

template <>
struct Columns<runtime::BufferInfo> {
  template <class Visit>
  static void for_each(Visit&& visit) {
    visit("label", &runtime::BufferInfo::label);
    visit("memory", &runtime::BufferInfo::memory);
    visit("device", &runtime::BufferInfo::device);
    visit("bytes", &runtime::BufferInfo::bytes);
  }
};

template <>
struct Columns<runtime::GraphNodeInfo> {
  template <class Visit>
  static void for_each(Visit&& visit) {
    visit("name", &runtime::GraphNodeInfo::name);
    visit("type", &runtime::GraphNodeInfo::type);
    visit("kind", &runtime::GraphNodeInfo::kind);
    visit("lane", &runtime::GraphNodeInfo::lane);
    visit("flag", &runtime::GraphNodeInfo::flag);
    visit("value", &runtime::GraphNodeInfo::value);
    visit("after", &runtime::GraphNodeInfo::after);
  }
};

template <>
struct Columns<runtime::Operation> {
  template <class Visit>
  static void for_each(Visit&& visit) {
    visit("name", &runtime::Operation::name);
    visit("kind", &runtime::Operation::kind);
    visit("kind_in_graph", &runtime::Operation::kind_in_graph);
    visit("host", &runtime::Operation::host);
    visit("node", &runtime::Operation::node);
    visit("stream", &runtime::Operation::stream);
    visit("step", &runtime::Operation::step);
    visit("graph", &runtime::Operation::graph);
    visit("first_access", &runtime::Operation::first_access);
    visit("access_count", &runtime::Operation::access_count);
    visit("bytes", &runtime::Operation::bytes);
    visit("issue_begin", &runtime::Operation::issue_begin);
    visit("issue_end", &runtime::Operation::issue_end);
    visit("start", &runtime::Operation::start);
    visit("end", &runtime::Operation::end);
  }
};

template <>
struct Columns<runtime::Call> {
  template <class Visit>
  static void for_each(Visit&& visit) {
    visit("type", &runtime::Call::type);
    visit("implicit", &runtime::Call::implicit);
    visit("host", &runtime::Call::host);
    visit("operation", &runtime::Call::operation);
    visit("site", &runtime::Call::site);
    visit("at_stream", [](auto& call) -> auto& { return call.at.stream; });
    visit("at_sequence", [](auto& call) -> auto& { return call.at.sequence; });
    visit("target_stream", [](auto& call) -> auto& { return call.target.stream; });
    visit("target_sequence", [](auto& call) -> auto& { return call.target.sequence; });
    visit("event", &runtime::Call::event);
    visit("flag", &runtime::Call::flag);
    visit("value", &runtime::Call::value);
  }
};

template <>
struct Columns<runtime::Access> {
  template <class Visit>
  static void for_each(Visit&& visit) {
    visit("buffer", &runtime::Access::buffer);
    visit("begin", &runtime::Access::begin);
    visit("end", &runtime::Access::end);
    visit("write", &runtime::Access::write);
  }
};

/// What an access that is rows with gaps has beyond the others.
struct Stride {
  std::uint32_t access = 0;
  std::uint32_t pitch = 0;
  std::uint32_t width = 0;
};

template <>
struct Columns<Stride> {
  template <class Visit>
  static void for_each(Visit&& visit) {
    visit("access", &Stride::access);
    visit("pitch", &Stride::pitch);
    visit("width", &Stride::width);
  }
};

/// What a node whose flag has a cycle has beyond the others.
struct NodeCycle {
  std::uint16_t node = 0;
  std::uint64_t cycle = 0;
};

template <>
struct Columns<NodeCycle> {
  template <class Visit>
  static void for_each(Visit&& visit) {
    visit("node", &NodeCycle::node);
    visit("cycle", &NodeCycle::cycle);
  }
};

template <>
struct Columns<runtime::Activity> {
  template <class Visit>
  static void for_each(Visit&& visit) {
    visit("name", &runtime::Activity::name);
    visit("kind", &runtime::Activity::kind);
    visit("device", &runtime::Activity::device);
    visit("node", &runtime::Activity::node);
    visit("operation", &runtime::Activity::operation);
    visit("correlation", &runtime::Activity::correlation);
    visit("stream", &runtime::Activity::stream);
    visit("native_stream", &runtime::Activity::native_stream);
    visit("bytes", &runtime::Activity::bytes);
    visit("start", &runtime::Activity::start);
    visit("end", &runtime::Activity::end);
  }
};

}  // namespace syncopate::analysis
