#include <fmt/format.h>

#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "analysis/error.h"
#include "analysis/timeline_columns.h"
#include "analysis/timeline_io.h"

namespace syncopate::analysis {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using runtime::Timeline;

class Reader {
 public:
  explicit Reader(const fs::path& file) : file_(file) {}

  Timeline read() {
    const json root = parse();
    if (member(root, "format") != kTimelineFormat) fail("format", "not a timeline");
    if (member(root, "version") != kTimelineVersion) {
      fail("version", fmt::format("only version {} can be read", kTimelineVersion));
    }
    for_each_enum([&]<class E>() { check_names<E>(root); });
    Timeline t;
    const json& detail = member(root, "detail");
    if (detail != "all" && detail != "times") fail("detail", "neither 'all' nor 'times'");
    t.detail = detail == "all" ? runtime::Detail::kAll : runtime::Detail::kTimes;
    place_ = "hosts";
    value(member(root, "hosts"), t.hosts);
    place_ = "end";
    value(member(root, "end"), t.end);

    for (const json& text : list(root, "names")) {
      if (!text.is_string()) fail("names", "holds something that is not a text");
      names_.push_back(t.intern(text.get<std::string>()));
    }
    rows(root, "streams", t.streams);
    streams_ = t.streams.size();
    rows(root, "buffers", t.buffers);
    buffers_ = t.buffers.size();
    for (const json& entry : list(root, "graphs")) {
      runtime::GraphInfo& graph = t.graphs.emplace_back();
      place_ = "graphs";
      value(member(entry, "label"), graph.label);
      rows(entry, "nodes", graph.nodes);
      if (entry.contains("cycles")) {
        std::vector<NodeCycle> cycles;
        rows(entry, "cycles", cycles);
        place_ = "graphs.cycles";
        for (row_ = 0; row_ < cycles.size(); ++row_) apply(cycles[row_], graph);
        row_ = kNoRow;
      }
      check(graph);
    }
    graphs_ = t.graphs.size();
    rows(root, "operations", t.operations);
    rows(root, "calls", t.calls);
    rows(root, "accesses", t.accesses);
    if (root.contains("strides")) {
      std::vector<Stride> strides;
      rows(root, "strides", strides);
      place_ = "strides";
      for (row_ = 0; row_ < strides.size(); ++row_) apply(strides[row_], t);
      row_ = kNoRow;
    }
    if (root.contains("activities")) {
      check_names<runtime::ActivityKind>(root);
      runtime::Activities& activities = t.activities.emplace();
      place_ = "activities_dropped";
      value(member(root, "activities_dropped"), activities.dropped);
      rows(root, "activities", activities.records);
    }
    check(t);
    return t;
  }

 private:
  [[noreturn]] void fail(const std::string& place, const std::string& what) const {
    throw FileError(fmt::format("{}: {}: {}", file_.string(), place, what));
  }
  [[noreturn]] void fail(const std::string& what) const {
    fail(row_ == kNoRow ? place_ : fmt::format("{}[{}]", place_, row_), what);
  }

  json parse() const {
    std::ifstream in(file_, std::ios::binary);
    if (!in) throw FileError(file_.string() + ": cannot be opened");
    try {
      return json::parse(in);
    } catch (const json::parse_error& error) {
      throw FileError(fmt::format("{}: not JSON from byte {} on: was it cut off or edited?",
                                  file_.string(), error.byte));
    } catch (const json::exception&) {
      throw FileError(file_.string() + ": holds a number that is out of range: was it edited?");
    }
  }
  const json& member(const json& object, std::string_view key) const {
    if (!object.is_object()) fail(std::string(key), "stands in something that is not an object");
    const auto found = object.find(key);
    if (found == object.end()) fail(std::string(key), "missing");
    return *found;
  }
  const json& list(const json& object, std::string_view key) const {
    const json& found = member(object, key);
    if (!found.is_array()) fail(std::string(key), "not a list");
    return found;
  }

  template <class E>
  void check_names(const json& root) const {
    if (member(root, EnumNames<E>::kKey) != json(EnumNames<E>::kNames)) {
      fail(std::string(EnumNames<E>::kKey), "not the names of this version");
    }
  }

  template <class Rows>
  void rows(const json& parent, std::string_view key, Rows& out) {
    const json& columns = member(parent, key);
    bool first = true;
    Columns<typename Rows::value_type>::for_each([&](std::string_view name, auto field) {
      const json& column = list(columns, name);
      place_ = fmt::format("{}.{}", key, name);
      if (first) out.resize(column.size());
      first = false;
      if (column.size() != out.size()) {
        fail(place_,
             fmt::format("{} values, but {} in the column before", column.size(), out.size()));
      }
      for (row_ = 0; row_ < out.size(); ++row_) value(column[row_], std::invoke(field, out[row_]));
      row_ = kNoRow;
    });
  }

  void value(const json& from, std::string& to) const {
    if (!from.is_string()) fail("not a text");
    to = from.get<std::string>();
  }
  void value(const json& from, runtime::Name& to) const { to = names_[index(from, names_.size())]; }
  void value(const json& from, bool& to) const { to = index(from, 2) == 1; }
  void value(const json& from, std::vector<std::uint16_t>& to) const {
    if (!from.is_array()) fail("not a list");
    to.resize(from.size());
    for (std::size_t i = 0; i < to.size(); ++i) value(from[i], to[i]);
  }
  template <class Tag>
  void value(const json& from, runtime::Handle<Tag>& to) const {
    std::size_t count = runtime::Handle<Tag>::kNone;  // events and flags are listed nowhere
    if constexpr (std::is_same_v<runtime::Handle<Tag>, runtime::Stream>) count = streams_;
    if constexpr (std::is_same_v<runtime::Handle<Tag>, runtime::Buffer>) count = buffers_;
    if constexpr (std::is_same_v<runtime::Handle<Tag>, runtime::Graph>) count = graphs_;
    to = from == -1 ? runtime::Handle<Tag>{}
                    : runtime::Handle<Tag>{static_cast<std::uint32_t>(index(from, count))};
  }
  template <class Number>
    requires std::is_integral_v<Number> || std::is_enum_v<Number>
  void value(const json& from, Number& to) const {
    if constexpr (std::is_enum_v<Number>) {
      to = static_cast<Number>(index(from, EnumNames<Number>::kNames.size()));
    } else {
      if (!from.is_number_integer()) fail("not a whole number");
      const bool fits = from.is_number_unsigned() ? std::in_range<Number>(from.get<std::uint64_t>())
                                                  : std::in_range<Number>(from.get<std::int64_t>());
      if (!fits) fail(fmt::format("{} is out of range", from.dump()));
      to = from.get<Number>();
    }
  }
  std::size_t index(const json& from, std::size_t count) const {
    if (!from.is_number_unsigned()) fail("not a whole number from 0");
    const auto index = from.get<std::uint64_t>();
    if (index >= count) fail(fmt::format("{} is out of range: there are {}", index, count));
    return index;
  }

  void apply(const Stride& stride, Timeline& t) const {
    if (stride.access >= t.accesses.size()) {
      fail(fmt::format("{} is out of range: there are {}", stride.access, t.accesses.size()));
    }
    if (stride.width == 0 || stride.pitch <= stride.width) fail("rows without gaps between them");
    t.accesses[stride.access].pitch = stride.pitch;
    t.accesses[stride.access].width = stride.width;
  }

  void apply(const NodeCycle& entry, runtime::GraphInfo& graph) const {
    if (entry.node >= graph.nodes.size()) {
      fail(fmt::format("{} is out of range: there are {}", entry.node, graph.nodes.size()));
    }
    graph.nodes[entry.node].cycle = entry.cycle;
  }

  void check(const runtime::GraphInfo& graph) {
    place_ = "graphs.nodes.after";
    for (row_ = 0; row_ < graph.nodes.size(); ++row_) {
      for (const std::uint16_t before : graph.nodes[row_].after) {
        if (before >= row_) fail(fmt::format("node {} does not come before it", before));
      }
    }
    row_ = kNoRow;
  }
  void check(const Timeline& t) {
    place_ = "operations.first_access";
    for (row_ = 0; row_ < t.operations.size(); ++row_) {
      const runtime::Operation& op = t.operations[row_];
      if (std::uint64_t{op.first_access} + op.access_count > t.accesses.size()) {
        fail(fmt::format("points past the last of {} accesses", t.accesses.size()));
      }
    }
    place_ = "calls.operation";
    for (row_ = 0; row_ < t.calls.size(); ++row_) {
      const std::uint32_t operation = t.calls[row_].operation;
      if (operation != std::numeric_limits<std::uint32_t>::max() &&
          operation >= t.operations.size()) {
        fail(fmt::format("{} is out of range: there are {}", operation, t.operations.size()));
      }
    }
    row_ = kNoRow;
    if (!t.activities) return;
    place_ = "activities.operation";
    const auto& records = t.activities->records;
    for (row_ = 0; row_ < records.size(); ++row_) {
      const std::uint32_t operation = records[row_].operation;
      if (operation != runtime::Activity::kNoOperation && operation >= t.operations.size()) {
        fail(fmt::format("{} is out of range: there are {}", operation, t.operations.size()));
      }
      if (row_ > 0 && records[row_ - 1].operation > operation) fail("out of order");
    }
    row_ = kNoRow;
  }

  static constexpr std::size_t kNoRow = std::numeric_limits<std::size_t>::max();

  const fs::path& file_;
  std::vector<runtime::Name> names_;
  std::size_t streams_ = 0;
  std::size_t buffers_ = 0;
  std::size_t graphs_ = 0;
  std::string place_;  // what is being read, for errors
  std::size_t row_ = kNoRow;
};

}  // namespace

Timeline read_timeline(const fs::path& file) { return Reader(file).read(); }

}  // namespace syncopate::analysis
