#include "backend/runtime/runtime.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "backend/runtime/error.h"
#include "backend/runtime/host.h"

namespace syncopate::runtime {

Runtime::Runtime(std::unique_ptr<Engine> engine, RuntimeOptions options)
    : engine_(std::move(engine)), options_(std::move(options)) {
  timeline_.detail = options_.detail;
  default_streams_.resize(static_cast<std::size_t>(engine_->device_count()));
  // Room for what a program of a few slots creates.
  timeline_.streams.reserve(8);
  timeline_.buffers.reserve(16);
  host_data_.reserve(16);
  event_devices_.reserve(16);
}

Runtime::~Runtime() = default;

Stream Runtime::make_stream(Device device, StreamKind kind, std::string label) {
  if (device.id >= default_streams_.size()) {
    throw UsageError("make_stream('" + label + "'): the runtime has no device " +
                     std::to_string(device.id));
  }
  const bool is_default = kind == StreamKind::kLegacyDefault;
  if (is_default && default_streams_[device.id]) return default_streams_[device.id];
  const Stream stream{static_cast<std::uint32_t>(timeline_.streams.size())};
  engine_->create_stream(stream, kind, device);  // first: it may throw
  timeline_.streams.push_back({std::move(label), kind, static_cast<std::uint16_t>(device.id)});
  if (is_default) default_streams_[device.id] = stream;
  return stream;
}

Event Runtime::make_event(Device device) {
  const Event event{static_cast<std::uint32_t>(event_devices_.size())};
  engine_->create_event(event, device);
  event_devices_.push_back(device);
  return event;
}

Flag Runtime::make_flag(std::uint64_t cycle) {
  const Flag flag{static_cast<std::uint32_t>(flag_cycles_.size())};
  engine_->create_flag(flag, cycle);
  flag_cycles_.push_back(cycle);
  return flag;
}

Meeting Runtime::make_meeting(std::vector<Device> ranks, std::uint64_t per_graph) {
  const Meeting meeting{static_cast<std::uint32_t>(meetings_.size())};
  engine_->create_meeting(meeting, static_cast<std::uint32_t>(ranks.size()));
  MeetingPlace place;
  for (std::size_t i = 0; i < ranks.size() * ranks.size(); ++i) {
    place.flags.push_back(make_flag(2 * per_graph));  // each collective is come to and left
  }
  place.ranks = std::move(ranks);
  meetings_.push_back(std::move(place));
  return meeting;
}

Buffer Runtime::make_buffer(Device device, Memory memory, std::uint64_t bytes, std::string label) {
  const Buffer buffer{static_cast<std::uint32_t>(timeline_.buffers.size())};
  std::byte* base = engine_->allocate(buffer, memory, bytes, device);
  timeline_.buffers.push_back(
      {std::move(label), memory, static_cast<std::uint16_t>(device.id), bytes});
  host_data_.push_back(memory == Memory::kDevice ? nullptr : base);
  in_graphs_.emplace_back(false);
  return buffer;
}

bool Runtime::removed(Site site) const {
  return std::any_of(options_.removed_sites.begin(), options_.removed_sites.end(),
                     [site](const std::string& name) { return name == site; });
}

void Runtime::run(std::span<const HostMain> mains) {
  if (mains.size() > default_streams_.size()) {
    throw UsageError("run: " + std::to_string(mains.size()) + " hosts for " +
                     std::to_string(default_streams_.size()) + " devices");
  }
  std::deque<Host> hosts;  // they stay where they are: the engine keeps references
  for (std::size_t id = 0; id < mains.size(); ++id) {
    Host& host = hosts.emplace_back(*this, static_cast<int>(id));
    engine_->attach(static_cast<int>(id), host.operations_);
  }
  // The timeline is kept whatever happens: what was done before an error is worth seeing.
  try {
    engine_->run(static_cast<int>(mains.size()), [&](int id) {
      const auto index = static_cast<std::size_t>(id);
      mains[index](hosts[index]);
    });
  } catch (...) {
    collect(hosts);
    throw;
  }
  collect(hosts);
}

void Runtime::collect(std::deque<Host>& hosts) {
  timeline_.hosts = static_cast<std::uint16_t>(hosts.size());
  timeline_.end = engine_->end_time();
  timeline_.graphs.resize(next_graph_);
  for (Host& host : hosts) {
    engine_->stamp(host.id_, host.operations_);
    for (Host::GraphState& state : host.graphs_) {  // the run is over: take what they hold
      GraphInfo& info = timeline_.graphs[state.graph.id];
      info.label = std::move(state.script.label);
      info.nodes.reserve(state.script.nodes.size());
      for (GraphNode& node : state.script.nodes) {
        info.nodes.push_back({node.name, node.type, node.kind, node.lane, node.flag, node.value,
                              node.cycle, std::move(node.after)});
      }
    }
    if (timeline_.operations.empty()) {  // one host: nothing to merge
      timeline_.operations = std::move(host.operations_);
      timeline_.calls = std::move(host.calls_);
      timeline_.accesses = std::move(host.accesses_);
      continue;
    }
    const auto first_operation = static_cast<std::uint32_t>(timeline_.operations.size());
    const auto first_access = static_cast<std::uint32_t>(timeline_.accesses.size());
    for (Operation operation : host.operations_) {
      operation.first_access += first_access;
      timeline_.operations.push_back(operation);
    }
    for (Call call : host.calls_) {
      if (call.operation != Command::kNoOperation) call.operation += first_operation;
      timeline_.calls.push_back(call);
    }
    timeline_.accesses.insert(timeline_.accesses.end(), host.accesses_.begin(),
                              host.accesses_.end());
  }
  engine_->explain(timeline_);
}

}  // namespace syncopate::runtime
