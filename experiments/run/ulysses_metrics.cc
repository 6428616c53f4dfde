#include "experiments/run/ulysses_metrics.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "experiments/run/ulysses_figures.h"
#include "experiments/units.h"

namespace syncopate::experiments {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// An infinite difference, of what is no number, has none in JSON.
Json difference_json(double difference) {
  return std::isfinite(difference) ? Json(difference) : Json("not a number");
}

void add_times(Json& out, const EntrantFigures& figures) {
  const auto& time = figures.time;
  out["iterations"] = time ? time->count : 0;
  out["median_ms"] = time ? Json(time->median) : Json(nullptr);
  out["p90_ms"] = time ? Json(time->p90) : Json(nullptr);
  out["min_ms"] = time ? Json(time->min) : Json(nullptr);
  out["max_ms"] = time ? Json(time->max) : Json(nullptr);
  out["host_us_per_pass"] = figures.enqueue ? Json(figures.enqueue->median * 1e3) : Json(nullptr);
}

Json contender_json(const Contender& contender) {
  const PassFigures& figures = contender.figures;
  Json bands = Json::array();
  for (const runtime::Nanos band : figures.attention) bands.push_back(milliseconds(band));
  return {{"strategy", ulysses::to_string(contender.variant.options.strategy)},
          {"schedule", contender.variant.schedule},
          {"transport", ulysses::to_string(contender.variant.options.transport)},
          {"pass_ms", milliseconds(figures.time)},
          {"attention_ms", std::move(bands)},
          {"exposed_input_ms", milliseconds(figures.exposed_input)},
          {"exposed_output_ms", milliseconds(figures.exposed_output)},
          {"host_us", microseconds(figures.enqueue)}};
}

/// Of virtual time, whatever the runtime.
Json found_json(const SearchResult& found) {
  return {{"profile", found.profile},
          {"compared", found.compared},
          {"overlap_pays", found.overlaps},
          {"plain", contender_json(found.plain)},
          {"overlapped", found.overlapped ? contender_json(*found.overlapped) : Json(nullptr)}};
}

Json variant_json(const UlyssesResult& run, std::size_t index, const EntrantFigures& times,
                  const VariantFigures& figures) {
  const VariantFacts& facts = run.variants[index];
  Json out{{"name", *facts.config.name},
           {"strategy", yaml::name_of(facts.config.strategy)},
           {"schedule", run.divisions[facts.division].schedule},
           {"slots", facts.config.slots.value_or(1)},
           {"enqueue", yaml::name_of(facts.config.enqueue)},
           {"transport", yaml::name_of(*facts.config.transport)},
           {"graphs", facts.config.graphs},
           {"workspace", yaml::name_of(facts.config.workspace)}};
  out["search"] = facts.found ? found_json(*facts.found) : Json(nullptr);
  add_times(out, times);
  out["speedup_over_ordinary"] = or_null(figures.over_ordinary);
  out["speedup_over_whole_fused"] = or_null(figures.over_fused);
  out["communication_ms"] = or_null(figures.communication);
  out["exposed_ms"] = or_null(figures.exposed);
  out["hidden_pct"] = or_null(figures.hidden_pct);
  out["limit_ms"] = or_null(figures.limit);
  out["difference"] =
      facts.check ? difference_json(facts.check->difference.largest) : Json(nullptr);
  out["workspace_bytes"] = facts.workspace_bytes;
  out["sent_bytes"] = {{"qkv", facts.sent.qkv}, {"output", facts.sent.output}};
  return out;
}

}  // namespace

Json ulysses_metrics(const UlyssesResult& run) {
  const auto entrants = entrant_figures(run);
  const auto variants = variant_figures(run, entrants);
  Json out{{"ranks", run.ranks}, {"attention", run.attention}, {"checked", nullptr}};
  if (run.oracle) {
    out["checked"] = {{"tolerance", run.tolerance},
                      {"one_device_difference", difference_json(run.oracle->largest)}};
  }
  out["variants"] = Json::array();
  out["parts"] = Json::array();
  for (std::size_t i = 0; i < run.entrants.size(); ++i) {
    const ulysses::Entrant& entrant = run.entrants[i];
    if (!entrant.part) {
      out["variants"].push_back(variant_json(run, entrant.of, entrants[i], variants[entrant.of]));
      continue;
    }
    Json part{{"name", entrant.name},
              {"part", ulysses::to_string(*entrant.part)},
              {"schedule", run.divisions[entrant.of].schedule},
              {"transport", ulysses::to_string(run.divisions[entrant.of].transport)}};
    add_times(part, entrants[i]);
    out["parts"].push_back(std::move(part));
  }
  return out;
}

std::string samples_csv(const UlyssesResult& run) {
  std::string out = "variant,iteration,rank,pass_us,enqueue_us,step\n";
  for (const ulysses::Sample& sample : run.samples) {
    if (!run.rotation.counts(sample.step)) continue;
    fmt::format_to(std::back_inserter(out), "{},{},{},{:.3f},{:.3f},{}\n",
                   run.entrants[run.rotation.entrant(sample.step)].name,
                   run.rotation.iteration(sample.step), sample.rank, microseconds(sample.time),
                   microseconds(sample.enqueue), sample.step);
  }
  return out;
}

}  // namespace syncopate::experiments
