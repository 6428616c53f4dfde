// The four strategies; two differ from others in their layout alone. make_strategy() is the way in.
#pragma once

#include <vector>

#include "backend/ulysses/strategy.h"

namespace syncopate::ulysses {

/// Everything in the caller's stream: nothing overlaps. Ordinary scatters Q, K and V one by one.
class OneStreamStrategy final : public Strategy {
 public:
  OneStreamStrategy(runtime::Stream caller, bool one_by_one)
      : caller_(caller), one_by_one_(one_by_one) {}
  void enqueue(runtime::Host& host, RankPass& pass) override;

 private:
  runtime::Stream caller_;
  bool one_by_one_;
};

/// Scatters, attention and gathers of different bands at once. Two events a band order them; the
/// scatters of all bands that the slots hold are enqueued before the first attention, so that none
/// stands behind it on the device, unless the order says otherwise.
class OverlapStrategy final : public Strategy {
 public:
  OverlapStrategy(EnqueueOrder order, std::uint32_t bands, runtime::Runtime& runtime,
                  runtime::Device device, runtime::Stream caller, const RankStreams& streams);
  void enqueue(runtime::Host& host, RankPass& pass) override;

 private:
  void scatter(runtime::Host& host, RankPass& pass, std::uint32_t band);

  EnqueueOrder order_;
  runtime::Stream caller_, input_, output_;
  runtime::Event begun_, done_;
  std::vector<runtime::Event> input_ready_;    // by band
  std::vector<runtime::Event> compute_ready_;  // by band
};

}  // namespace syncopate::ulysses
