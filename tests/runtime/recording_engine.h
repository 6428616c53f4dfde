// An engine that does nothing but write down what the front end asks of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/runtime/engine.h"

namespace syncopate::runtime {

struct Recorded {
  std::vector<std::string> asked;   // one line a primitive, as "s1: wait s0@2"
  std::vector<GraphScript> graphs;  // as handed to end_capture
  bool native_default_stream = false;
  bool native_capture = false;
  bool reached = true;  // what reached() answers
};

/// Owned by a Runtime; the test keeps `recorded`, which must outlive it.
class RecordingEngine final : public Engine {
 public:
  RecordingEngine(Recorded& recorded, int devices) : recorded_(recorded), devices_(devices) {}

  const char* name() const override { return "recording"; }
  int device_count() const override { return devices_; }
  void create_stream(Stream, StreamKind, Device) override {}
  void create_event(Event, Device) override {}
  void create_flag(Flag, std::uint64_t) override {}
  std::byte* allocate(Buffer, Memory, std::uint64_t bytes, Device) override {
    return memory_.emplace_back(std::make_unique<std::byte[]>(bytes)).get();
  }
  Interval renew(int, Buffer buffer, std::uint64_t bytes) override {
    recorded_.asked.push_back("renew b" + std::to_string(buffer.id) + " of " +
                              std::to_string(bytes));
    return {30, 40};
  }
  bool captures_natively() const override { return recorded_.native_capture; }
  void begin_capture(int, Stream origin) override { say(origin, "begin capture"); }
  void end_capture(int, Graph, const GraphScript& script) override {
    recorded_.graphs.push_back(script);
  }
  bool orders_default_stream_natively() const override { return recorded_.native_default_stream; }
  Interval enqueue(int, Stream stream, const Command& command) override {
    switch (command.type) {
      case Command::Type::kKernel:
      case Command::Type::kCopy:
      case Command::Type::kGraph:
        say(stream, std::string("run ") + command.name);
        break;
      case Command::Type::kWait:
        say(stream, "wait " + text(command.target));
        break;
      case Command::Type::kSignal:
        say(stream, "signal " + std::to_string(command.value));
        break;
      case Command::Type::kWaitFlag:
        say(stream, "wait flag " + std::to_string(command.value));
        break;
    }
    return {};
  }
  Interval record(int, Event, Position at) override {
    recorded_.asked.push_back("record " + text(at));
    return {};
  }
  Interval block(int, SyncPoint point) override {
    recorded_.asked.push_back("block " + text(point.position));
    return {};
  }
  Interval block(int, Flag flag, std::uint64_t value) override {
    recorded_.asked.push_back("block flag " + std::to_string(flag.id) +
                              " >= " + std::to_string(value));
    return {};
  }
  bool reached(int, SyncPoint) override { return recorded_.reached; }
  Nanos now(int) override { return 0; }
  Interval busy(int, Nanos duration) override { return {0, duration}; }
  void sleep_until(int, Nanos) override {}
  Nanos begin_span(int, std::span<const Access>) override { return 10; }
  Nanos end_span(int, const Cost&) override { return 20; }
  void attach(int, Log<Operation>&) override {}
  void run(int hosts, const std::function<void(int)>& main) override {
    for (int host = 0; host < hosts; ++host) main(host);
  }
  void stamp(int, std::span<Operation>) override {}
  Nanos end_time() const override { return 0; }

 private:
  static std::string text(Position position) {
    if (!position.stream) return "captured";
    return "s" + std::to_string(position.stream.id) + "@" + std::to_string(position.sequence);
  }
  void say(Stream stream, const std::string& what) {
    recorded_.asked.push_back("s" + std::to_string(stream.id) + ": " + what);
  }

  Recorded& recorded_;
  int devices_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
};

}  // namespace syncopate::runtime
