// The layout against a brute-force oracle: every element has a label, moves carry bytes one by one,
// and what arrives is compared with the definition, for all small sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "backend/ulysses/error.h"
#include "backend/ulysses/head_chunk_layout.h"

namespace syncopate::ulysses {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Label = std::uint32_t;
using ::testing::HasSubstr;

constexpr Label kUntouched = 0;

/// What element (batch, token of the whole sequence, global head, dim) of a tensor holds.
Label label(Tensor tensor, std::uint32_t b, std::uint32_t s, std::uint32_t h, std::uint32_t d) {
  return ((((static_cast<Label>(tensor) + 1) * 8 + b) * 32 + s) * 64 + h) * 8 + d;
}

/// Elements are labels (4 bytes) or their low halves (2 bytes).
void put(Bytes& bytes, std::uint64_t element, std::uint32_t size, Label value) {
  ASSERT_LE((element + 1) * size, bytes.size());
  std::memcpy(&bytes[element * size], &value, size);
}

/// Moves row by row, byte by byte, and counts how often each byte of `to` is written.
void apply(const Move& move, const Bytes& from, Bytes& to, Bytes& writes) {
  ASSERT_EQ(move.from.rows, move.to.rows);
  ASSERT_EQ(move.from.width, move.to.width);
  for (std::uint64_t row = 0; row < move.from.rows; ++row) {
    for (std::uint64_t i = 0; i < move.from.width; ++i) {
      const std::uint64_t target = move.to.offset + row * move.to.pitch + i;
      ASSERT_LT(target, to.size());
      to[target] = from.at(move.from.offset + row * move.from.pitch + i);
      ++writes[target];
    }
  }
}

/// A rank's part of a tensor, with its labels.
Bytes local(const HeadChunkLayout& layout, Tensor tensor, std::uint32_t rank) {
  const TensorShape shape = layout.shape(tensor, rank);
  const std::uint32_t size = element_bytes(layout.options().type);
  std::uint32_t first = 0;
  for (std::uint32_t r = 0; r < rank; ++r) first += layout.tokens(r);
  Bytes bytes(layout.bytes(tensor, rank));
  std::uint64_t element = 0;
  for (std::uint32_t b = 0; b < shape.batch; ++b) {
    for (std::uint32_t s = 0; s < shape.tokens; ++s) {
      for (std::uint32_t h = 0; h < shape.heads; ++h) {
        for (std::uint32_t d = 0; d < shape.head_dim; ++d) {
          put(bytes, element++, size, label(tensor, b, first + s, h, d));
        }
      }
    }
  }
  return bytes;
}

/// A dense [batch, all tokens, heads of the list, dim] with its labels.
Bytes dense(const HeadChunkLayout& layout, Tensor tensor, const std::vector<std::uint32_t>& heads) {
  const LayoutOptions& o = layout.options();
  Bytes bytes(std::size_t{o.batch} * layout.all_tokens() * heads.size() * o.head_dim *
              element_bytes(o.type));
  std::uint64_t element = 0;
  for (std::uint32_t b = 0; b < o.batch; ++b) {
    for (std::uint32_t s = 0; s < layout.all_tokens(); ++s) {
      for (const std::uint32_t h : heads) {
        for (std::uint32_t d = 0; d < o.head_dim; ++d) {
          put(bytes, element++, element_bytes(o.type), label(tensor, b, s, h, d));
        }
      }
    }
  }
  return bytes;
}

/// The query heads of a rank's band, and the K/V heads that they read.
struct BandHeads {
  std::vector<std::uint32_t> q, kv;
};
std::vector<BandHeads> band_heads(const LayoutOptions& o, std::uint32_t rank) {
  std::vector<BandHeads> bands;
  std::uint32_t head = rank * o.heads / static_cast<std::uint32_t>(o.tokens.size());
  for (const std::uint32_t count : o.schedule) {
    BandHeads& band = bands.emplace_back();
    std::set<std::uint32_t> kv;
    for (std::uint32_t i = 0; i < count; ++i, ++head) {
      band.q.push_back(head);
      kv.insert(head * o.kv_heads / o.heads);
    }
    band.kv.assign(kv.begin(), kv.end());
  }
  return bands;
}

void expect_scatter(const HeadChunkLayout& layout) {
  const LayoutOptions& o = layout.options();
  for (std::uint32_t to = 0; to < layout.world(); ++to) {
    const std::vector<BandHeads> bands = band_heads(o, to);
    for (std::uint32_t band = 0; band < layout.bands(); ++band) {
      Bytes slot(layout.slot_bytes(to)), writes(slot.size());
      for (const Tensor tensor : {Tensor::kQ, Tensor::kK, Tensor::kV}) {
        for (std::uint32_t from = 0; from < layout.world(); ++from) {
          const Bytes source = local(layout, tensor, from);
          for (std::uint32_t b = 0; b < o.batch; ++b) {
            apply(layout.scatter(tensor, from, to, band, b), source, slot, writes);
          }
        }
        const Bytes expected =
            dense(layout, tensor, tensor == Tensor::kQ ? bands[band].q : bands[band].kv);
        const runtime::Region landing = layout.landing(tensor, to, band);
        ASSERT_EQ(landing.bytes(), expected.size());
        ASSERT_EQ(landing.offset % HeadChunkLayout::kAlignment, 0U);
        const auto begin = slot.begin() + static_cast<std::ptrdiff_t>(landing.offset);
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), begin)) << to_string(tensor);
      }
      for (const std::uint8_t count : writes) ASSERT_LE(count, 1) << "tensors share bytes";
    }
  }
}

void expect_gather(const HeadChunkLayout& layout) {
  const LayoutOptions& o = layout.options();
  std::vector<Bytes> attended(layout.world());
  for (std::uint32_t rank = 0; rank < layout.world(); ++rank) {
    attended[rank].resize(layout.attended_bytes());
    const std::vector<BandHeads> bands = band_heads(o, rank);
    for (std::uint32_t band = 0; band < layout.bands(); ++band) {
      const Bytes computed = dense(layout, Tensor::kOutput, bands[band].q);
      const runtime::Region place = layout.landing(Tensor::kOutput, rank, band);
      ASSERT_EQ(place.bytes(), computed.size());
      ASSERT_LE(place.end(), attended[rank].size());
      std::copy(computed.begin(), computed.end(),
                attended[rank].begin() + static_cast<std::ptrdiff_t>(place.offset));
    }
  }
  for (std::uint32_t to = 0; to < layout.world(); ++to) {
    Bytes out(layout.bytes(Tensor::kOutput, to)), writes(out.size());
    for (std::uint32_t from = 0; from < layout.world(); ++from) {
      for (std::uint32_t band = 0; band < layout.bands(); ++band) {
        for (std::uint32_t b = 0; b < o.batch; ++b) {
          apply(layout.gather(from, to, band, b), attended[from], out, writes);
        }
      }
    }
    ASSERT_EQ(out, local(layout, Tensor::kOutput, to));
    for (const std::uint8_t count : writes) ASSERT_EQ(count, 1) << "bands share bytes";
  }
}

/// All ways to cut `heads` into bands, in order.
std::vector<std::vector<std::uint32_t>> schedules(std::uint32_t heads) {
  std::vector<std::vector<std::uint32_t>> all;
  for (std::uint32_t cuts = 0; cuts < (1U << (heads - 1)); ++cuts) {
    std::vector<std::uint32_t>& schedule = all.emplace_back(1, 1);
    for (std::uint32_t head = 1; head < heads; ++head) {
      if ((cuts >> (head - 1) & 1U) != 0) {
        schedule.push_back(1);
      } else {
        ++schedule.back();
      }
    }
  }
  return all;
}

std::vector<std::vector<std::uint32_t>> splits(std::uint32_t ranks) {
  std::vector<std::uint32_t> uneven, with_none(ranks, 0);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) uneven.push_back(1 + (rank * 2 + 1) % 3);
  with_none.back() = 2;
  return {std::vector<std::uint32_t>(ranks, 2), uneven, with_none};
}

TEST(LayoutTest, EveryElementArrivesOnceAndInItsPlaceForAllSmallSizes) {
  int layouts = 0;
  for (std::uint32_t ranks = 1; ranks <= 4; ++ranks) {
    for (std::uint32_t local_heads = 1; local_heads <= 4; ++local_heads) {
      const std::uint32_t heads = ranks * local_heads;
      for (std::uint32_t kv_heads = 1; kv_heads <= heads; ++kv_heads) {
        if (heads % kv_heads != 0) continue;
        for (const auto& schedule : schedules(local_heads)) {
          for (const auto& tokens : splits(ranks)) {
            for (const std::uint32_t batch : {1U, 2U}) {
              // Odd dimensions and both element sizes, in turn.
              const std::uint32_t dim = 1 + layouts % 3;
              const ElementType type = layouts % 2 == 0 ? ElementType::kFp32 : ElementType::kFp16;
              ++layouts;
              const HeadChunkLayout layout({batch, tokens, heads, kv_heads, dim, type, schedule});
              SCOPED_TRACE(layout.explain());
              expect_scatter(layout);
              expect_gather(layout);
              if (testing::Test::HasFatalFailure()) return;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(layouts, 1000);
}

TEST(LayoutTest, TheOracleSeesAMoveThatIsOff) {
  const HeadChunkLayout layout({1, {2, 2}, 4, 4, 2, ElementType::kFp32, {1, 1}});
  Bytes slot(layout.slot_bytes(1)), writes(slot.size());
  Move move = layout.scatter(Tensor::kQ, 0, 1, 1, 0);
  move.from.offset -= 8;  // one head too early
  apply(move, local(layout, Tensor::kQ, 0), slot, writes);
  Label first = kUntouched;
  std::memcpy(&first, &slot[move.to.offset], sizeof(first));
  EXPECT_NE(first, label(Tensor::kQ, 0, 0, 3, 0));
}

/// The published model: a rank sends (1 + 2 KV/H) T (W-1)/W of Q, K, V and T (W-1)/W of output,
/// where T is what it holds of Q.
TEST(LayoutTest, TrafficIsWhatTheModelSays) {
  const auto expect = [](std::uint32_t ranks, std::uint32_t kv_heads,
                         std::vector<std::uint32_t> schedule) {
    const std::uint32_t local_tokens = 16;
    const HeadChunkLayout layout({1, std::vector<std::uint32_t>(ranks, local_tokens), 32, kv_heads,
                                  128, ElementType::kBf16, std::move(schedule)});
    const std::uint64_t t = std::uint64_t{local_tokens} * 32 * 128 * 2;
    const Traffic sent = layout.traffic(ranks - 1);
    EXPECT_EQ(sent.qkv, t * (32 + 2 * kv_heads) / 32 * (ranks - 1) / ranks);
    EXPECT_EQ(sent.output, t * (ranks - 1) / ranks);
  };
  expect(1, 32, {32});
  expect(2, 32, {4, 8, 4});
  expect(4, 32, {8});
  expect(4, 8, {4, 4});  // whole groups of 4 query heads: nothing travels twice
}

TEST(LayoutTest, AKvHeadTravelsOnceForEachBandThatReadsIt) {
  const HeadChunkLayout grouped({1, {4, 4}, 16, 4, 8, ElementType::kBf16, {4, 4}});
  const HeadChunkLayout cut({1, {4, 4}, 16, 4, 8, ElementType::kBf16, {2, 4, 2}});
  EXPECT_GT(cut.traffic(0).qkv, grouped.traffic(0).qkv);
  EXPECT_THAT(grouped.explain(), testing::Not(HasSubstr("once more")));
  EXPECT_THAT(cut.explain(), HasSubstr("band 1 has heads 2..5 and K/V heads 0..1 (0 once more)"));
}

TEST(LayoutTest, FewerKvHeadsThanRanksAreReplicated) {
  const HeadChunkLayout layout({1, {1, 1, 1, 1}, 8, 2, 8, ElementType::kBf16, {2}});
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const HeadRange kv = layout.heads(Tensor::kK, rank, 0);
    EXPECT_EQ(kv.first, rank / 2);
    EXPECT_EQ(kv.count, 1U);
  }
}

TEST(LayoutTest, OneBandOfAllHeadsIsTheUnchunkedLayout) {
  const HeadChunkLayout whole =
      HeadChunkLayout({1, {3, 2}, 8, 4, 8, ElementType::kBf16, {1, 3}}).whole();
  EXPECT_EQ(whole.bands(), 1U);
  EXPECT_EQ(whole.heads(Tensor::kQ, 1, 0).first, 4U);
  EXPECT_EQ(whole.heads(Tensor::kQ, 1, 0).count, 4U);
}

TEST(LayoutTest, SplitEvenlyGivesTheRestToTheFirst) {
  EXPECT_EQ(split_evenly(10, 4), (std::vector<std::uint32_t>{3, 3, 2, 2}));
  EXPECT_EQ(split_evenly(8, 2), (std::vector<std::uint32_t>{4, 4}));
  EXPECT_EQ(split_evenly(1, 3), (std::vector<std::uint32_t>{1, 0, 0}));
}

// -- what is refused ----------------------------------------------------------------------------

struct Refused {
  const char* what;
  std::function<void(LayoutOptions&)> spoil;
  Fault fault;
  const char* says;
};

void expect_refused(const Refused& refused) {
  LayoutOptions options{1, {4, 4}, 8, 4, 16, ElementType::kBf16, {1, 2, 1}};
  ASSERT_NO_THROW(HeadChunkLayout{options});
  refused.spoil(options);
  try {
    const HeadChunkLayout layout(options);
    ADD_FAILURE() << refused.what << " is not refused";
  } catch (const UlyssesError& error) {
    EXPECT_EQ(error.fault(), refused.fault) << refused.what;
    EXPECT_THAT(error.what(), HasSubstr(refused.says)) << refused.what;
  }
}

TEST(LayoutTest, WhatCannotBeIsRefusedWithTheReason) {
  using O = LayoutOptions;
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
  const Refused all[] = {
      {"no ranks", [](O& o) { o.tokens.clear(); }, Fault::kEmpty, "without ranks"},
      {"no batch", [](O& o) { o.batch = 0; }, Fault::kEmpty, "without a batch"},
      {"no heads", [](O& o) { o.heads = 0; }, Fault::kEmpty, "without heads"},
      {"no K/V heads", [](O& o) { o.kv_heads = 0; }, Fault::kEmpty, "without K/V heads"},
      {"no dimension", [](O& o) { o.head_dim = 0; }, Fault::kEmpty, "without a head dimension"},
      {"heads", [](O& o) { o.heads = 9; }, Fault::kHeadsNotDivisible,
       "9 heads do not divide among 2 ranks"},
      {"K/V heads", [](O& o) { o.kv_heads = 3; }, Fault::kKvHeadsDoNotDivide,
       "8 query heads do not divide among 3 K/V heads"},
      {"more K/V heads than heads", [](O& o) { o.kv_heads = 16; }, Fault::kKvHeadsDoNotDivide,
       "16 K/V heads"},
      {"no tokens", [](O& o) { o.tokens = {0, 0}; }, Fault::kSequenceSplit, "tokens"},
      {"an empty band", [](O& o) { o.schedule = {2, 0, 2}; }, Fault::kEmptyBand, "band 1"},
      {"a band too many", [](O& o) { o.schedule = {2, 2, 1}; }, Fault::kBandPastLocalHeads,
       "band 2 takes 1 heads from head 4 on, of 4 a rank"},
      {"a band that wraps", [](O& o) { o.schedule = {3, kMost}; }, Fault::kBandPastLocalHeads,
       "band 1"},
      {"too few bands", [](O& o) { o.schedule = {1, 2}; }, Fault::kScheduleIncomplete,
       "the bands [1, 2] have 3 heads together, a rank has 4"},
      {"no bands", [](O& o) { o.schedule.clear(); }, Fault::kScheduleIncomplete, "0 heads"},
      {"a huge payload",
       [](O& o) {
         o.tokens = {1U << 30, 1U << 30};
         o.batch = 1U << 30;
       },
       Fault::kTooLarge, "more than offsets can count"},
      {"a huge row", [](O& o) { o.head_dim = 1U << 30; }, Fault::kTooLarge, "offsets"},
      {"a sequence that wraps", [](O& o) { o.tokens = {kMost, kMost}; }, Fault::kTooLarge,
       "8589934590 tokens"}};
  for (const Refused& refused : all) expect_refused(refused);
}

Fault fault_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const UlyssesError& error) {
    return error.fault();
  }
  ADD_FAILURE() << "nothing is refused";
  return {};
}

TEST(LayoutTest, ATensorOfAnotherShapeIsRefused) {
  const HeadChunkLayout layout({2, {3, 1}, 8, 4, 16, ElementType::kBf16, {4}});
  EXPECT_NO_THROW(layout.check(Tensor::kQ, 0, {2, 3, 8, 16}));
  EXPECT_NO_THROW(layout.check(Tensor::kK, 1, {2, 1, 4, 16}));
  EXPECT_EQ(fault_of([&] { layout.check(Tensor::kK, 0, {2, 3, 8, 16}); }), Fault::kShape);
  EXPECT_EQ(fault_of([&] { layout.check(Tensor::kOutput, 1, {2, 3, 8, 16}); }), Fault::kShape);
}

TEST(LayoutTest, BandsAndRanksThatThereAreNotAreRefused) {
  const HeadChunkLayout layout({1, {4, 4}, 8, 8, 16, ElementType::kBf16, {2, 2}});
  EXPECT_EQ(fault_of([&] { layout.heads(Tensor::kQ, 2, 0); }), Fault::kNoSuchBand);
  EXPECT_EQ(fault_of([&] { layout.landing(Tensor::kQ, 0, 2); }), Fault::kNoSuchBand);
  EXPECT_EQ(fault_of([&] { layout.scatter(Tensor::kQ, 2, 0, 0, 0); }), Fault::kNoSuchBand);
  EXPECT_EQ(fault_of([&] { layout.gather(0, 2, 0, 0); }), Fault::kNoSuchBand);
}

}  // namespace
}  // namespace syncopate::ulysses
