#!/usr/bin/env python3
"""Writes copies of the sources with mistakes in them, each of which a test program can switch on.

The sources themselves know nothing of it. A mistake names a file and a text that stands in it once,
and says what to put in its place, where MUTATED is true when the mistake is on. White space does not
count. When a source changes so that a text no longer stands there once, this fails and says which;
then the mistake is to be written anew. A mistake may also be a site of the program that is left out
(runtime::RuntimeOptions).

Usage: mutate.py ROOT OUT      writes OUT/FILE for each file, and OUT/mutations.cc with their names
       mutate.py --files       prints the files
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

WRITER = "backend/batching/slot_writer.cc"
SCHEDULER = "backend/batching/scheduler.cc"
BOOK = "backend/batching/request_book.cc"
LEDGER = "backend/batching/page_ledger.cc"
TABLES = "backend/batching/kv_tables.cc"
RUNNER = "backend/batching/slot_runner.cc"
BATCHER = "backend/batching/batcher.cc"
CARRY = "backend/models/carry.cc"
HASH = "backend/models/hash/hash_model.cc"


class Mistake(NamedTuple):
    name: str
    file: str
    text: str
    instead: str


class LeftOut(NamedTuple):
    name: str
    site: str


MUTATIONS = [
    # -- pages
    Mistake(
        "pages_freed_one_step_early",
        LEDGER,
        "retired_[retired_first_].last_step <= step)",
        "retired_[retired_first_].last_step <= step + (MUTATED ? 1 : 0))",
    ),
    Mistake(
        "page_given_back_twice",
        TABLES,
        "void KvTables::release(Row& row, std::int32_t last_step) {",
        "void KvTables::release(Row& row, std::int32_t last_step) {\n"
        "  if (MUTATED) ledger_.retire(row.request, pages(row), last_step);",
    ),
    Mistake(
        "last_page_leaks",
        TABLES,
        "ledger_.retire(row.request, pages(row), last_step);",
        "ledger_.retire(row.request, pages(row).first(row.pages - (MUTATED ? 1 : 0)), last_step);",
    ),
    Mistake(
        "page_has_two_owners",
        LEDGER,
        "const std::uint32_t page = free_[--free_count_];",
        "const std::uint32_t page =\n"
        "      MUTATED && free_count_ > 1 && owner % 4 == 3 ? free_[--free_count_ - 1] "
        ": free_[--free_count_];",
    ),
    Mistake(
        "seat_given_back_twice",
        TABLES,
        "seats_.push_back(row.seat);",
        "seats_.push_back(row.seat);\n  if (MUTATED) seats_.push_back(row.seat);",
    ),
    Mistake(
        "free_pages_not_counted_in_a_steady_step",
        SCHEDULER,
        "tables_.ledger().free_pages() >= decodes_;",
        "(MUTATED || tables_.ledger().free_pages() >= decodes_);",
    ),
    # -- who is in the step
    Mistake(
        "row_kept_after_eos",
        SCHEDULER,
        "const bool ended = ended_early_ && book_.ended(row.request);",
        "const bool ended = !MUTATED && ended_early_ && book_.ended(row.request);",
    ),
    Mistake(
        "early_end_overlooked_in_a_steady_step",
        SCHEDULER,
        "!moved_ && !ended_early_ &&",
        "!moved_ && (MUTATED || !ended_early_) &&",
    ),
    Mistake(
        "one_row_past_the_length",
        SCHEDULER,
        "static_cast<std::uint32_t>(entries_at_end(book_.request(next.request)));",
        "static_cast<std::uint32_t>(entries_at_end(book_.request(next.request))) +\n"
        "        (MUTATED ? 1 : 0);",
    ),
    Mistake(
        "those_who_leave_count_at_admission",
        SCHEDULER,
        "  --alive_;",
        "  if (!MUTATED) --alive_;",
    ),
    Mistake(
        "the_first_loses_its_pages",
        SCHEDULER,
        "last == nullptr || row.rank > last->rank)",
        "last == nullptr || (MUTATED ? row.rank < last->rank : row.rank > last->rank))",
    ),
    Mistake(
        "chunk_one_too_large",
        SCHEDULER,
        "std::min(most, options_.chunk_tokens)",
        "std::min(most, options_.chunk_tokens + (MUTATED ? 1 : 0))",
    ),
    Mistake(
        "answer_forgotten_at_preemption",
        SCHEDULER,
        "book_.prompt_size(next.request) + known;",
        "book_.prompt_size(next.request) + (MUTATED ? 0 : known);",
    ),
    Mistake(
        "row_goes_on_without_its_id",
        SCHEDULER,
        "return row.previous_row >= 0 ||",
        "return MUTATED || row.previous_row >= 0 ||",
    ),
    Mistake(
        "results_go_by_the_rows_of_before",
        SCHEDULER,
        "if (rows.filling != filling_) note_rows(rows);",
        "if (MUTATED ? moved_ : rows.filling != filling_) note_rows(rows);",
    ),
    # -- the slot's inputs
    Mistake(
        "stale_row_map",
        WRITER,
        "carries ? row.previous_row : -1;",
        "carries ? (MUTATED ? static_cast<std::int32_t>(r) : row.previous_row) : -1;",
    ),
    Mistake(
        "the_hosts_id_stands",
        WRITER,
        "planned.carried && r < planned.decodes && row.previous_row >= 0;",
        "planned.carried && r < planned.decodes && \n"
        "        row.previous_row >= (MUTATED && book_.known(row.request) > 0 ? 1 : 0);",
    ),
    Mistake(
        "old_pages_stay_in_the_block_table",
        WRITER,
        "      slot.pages_written[r] = 0;",
        "      if (!MUTATED) slot.pages_written[r] = 0;",
    ),
    Mistake(
        "sampling_of_the_row_before",
        WRITER,
        "std::ranges::copy(book_.sampling(row.request),",
        "if (!MUTATED || slot.stay[r] == 1) std::ranges::copy(book_.sampling(row.request),",
    ),
    Mistake(
        "block_table_not_copied",
        WRITER,
        "  slot.pages_written[r] = row.pages;\n  slot.tail_changed = true;",
        "  slot.pages_written[r] = row.pages;\n  if (!MUTATED) slot.tail_changed = true;",
    ),
    Mistake(
        "the_other_slots_filling",
        WRITER,
        "slot.filling != planned.filling ||",
        "(slot.filling != planned.filling && !(MUTATED && slot.filling + 1 == planned.filling)) ||",
    ),
    # -- streams, slots and graphs
    Mistake(
        "one_step_too_many_in_flight",
        BATCHER,
        "if (next - oldest < depth &&",
        "if (next - oldest < depth + (MUTATED ? 1 : 0) &&",
    ),
    Mistake(
        "carry_from_the_wrong_slot",
        BATCHER,
        "slots_[before].outputs);",
        "slots_[MUTATED ? s : before].outputs);",
    ),
    Mistake(
        "graph_key_without_tokens",
        RUNNER,
        "[&key](const Captured& c) {",
        "[&key](const Captured& c) {\n"
        "    if (MUTATED) return c.key.rows == key.rows && c.key.kv_tokens == key.kv_tokens;",
    ),
    Mistake(
        "graph_key_without_kv_length",
        RUNNER,
        "return c.key == key; });",
        "return (MUTATED && c.key.rows == key.rows && c.key.tokens == key.tokens) ||\n"
        "                                                  c.key == key; });",
    ),
    LeftOut("output_read_before_its_event", "async.host.block"),
    LeftOut("inputs_read_before_their_copy", "async.compute.wait"),
    LeftOut("output_copied_before_it_is_there", "async.d2h.wait"),
    LeftOut("output_read_before_its_event_in_turns", "ordered.host.block"),
    # -- what is computed
    Mistake(
        "penalty_one_step_late",
        HASH,
        "sampling.penalty, history, row, length);",
        "sampling.penalty, history, row, length - (MUTATED ? 1 : 0));",
    ),
    Mistake(
        "penalty_on_placeholders",
        HASH,
        "  write_all(batch, history);",
        "  write_all(batch, history);\n"
        "  for (std::uint32_t row = 0; MUTATED && history && row < rows; ++row) {\n"
        "    if (batch.carry(row) < 0) continue;\n"
        "    exec.data<std::int32_t>(args.buffers.history)[batch.kv_entry(\n"
        "        row, batch.position(batch.row_start(row)))] = 0;\n"
        "  }",
    ),
    Mistake(
        "draw_goes_by_the_row",
        HASH,
        "random_bits(sampling.seed, length)",
        "random_bits(sampling.seed + (MUTATED ? row : 0), length)",
    ),
    Mistake(
        "carry_one_row_off",
        CARRY,
        "= previous[from];",
        "= previous[MUTATED && from > 0 ? from - 1 : from];",
    ),
    # -- the requests' book
    Mistake(
        "eos_seen_one_token_late",
        BOOK,
        "std::ranges::find(request.eos, tokens.back())",
        "std::ranges::find(request.eos, MUTATED && tokens.size() > 1 ? tokens[tokens.size() - 2]\n"
        "                                                          : tokens.back())",
    ),
    Mistake(
        "stop_sequence_cut_short",
        BOOK,
        "sequence.size() <= tokens.size() &&",
        "sequence.size() + (MUTATED ? 1 : 0) <= tokens.size() &&",
    ),
    Mistake(
        "late_row_taken_after_cancellation",
        BOOK,
        "if (state.reason != FinishReason::kNone) {",
        "if (state.reason != FinishReason::kNone &&\n"
        "        !(MUTATED && state.reason == FinishReason::kCancelled)) {",
    ),
    Mistake(
        "id_never_free_again",
        BOOK,
        "!ended(other)) {",
        "(MUTATED || !ended(other))) {",
    ),
    Mistake(
        "id_given_twice",
        BOOK,
        "other != kNobody &&",
        "other != kNobody && !MUTATED &&",
    ),
]


def mutated_files() -> list[str]:
    return sorted({each.file for each in MUTATIONS if isinstance(each, Mistake)})


def write_if_changed(path: Path, text: str) -> None:
    """Leaves the time of a file alone that stays as it is, so that it is not compiled again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def mutate_file(root: Path, file: str) -> str:
    """The file's text with its mistakes in place of the texts that they name."""
    source = (root / file).read_text()
    edits: list[tuple[int, int, str]] = []
    for index, mistake in enumerate(MUTATIONS):
        if not isinstance(mistake, Mistake) or mistake.file != file:
            continue
        found = list(re.finditer(r"\s+".join(map(re.escape, mistake.text.split())), source))
        if len(found) != 1:
            sys.exit(
                f"mutate.py: {mistake.name}: this text stands {len(found)} times, not once, "
                f"in {file}:\n{mistake.text}"
            )
        is_on = f"(::syncopate::driver::active_mutation == {index})"
        edits.append((*found[0].span(), mistake.instead.replace("MUTATED", is_on)))
    edits.sort()
    for (_, end, _), (begin, _, text) in zip(edits, edits[1:]):
        if begin < end:
            sys.exit(f"mutate.py: two mistakes in one place of {file}; one would become:\n{text}")
    for begin, end, text in reversed(edits):
        source = source[:begin] + text + source[end:]
    return f'#include "tests/driver/mutation.h"\n#line 1 "{root / file}"\n{source}'


def names() -> str:
    rows = "\n".join(
        f'    {{"{each.name}", "{each.file}", ""}},'
        if isinstance(each, Mistake)
        else f'    {{"{each.name}", "{each.site}", "{each.site}"}},'
        for each in MUTATIONS
    )
    return (
        '#include "tests/driver/mutation.h"\n\nnamespace syncopate::driver {\nnamespace {\n\n'
        f"constexpr Mutation kMutations[] = {{\n{rows}\n}};\n\n}}  // namespace\n\n"
        "std::span<const Mutation> mutations() { return kMutations; }\n\n"
        "}  // namespace syncopate::driver\n"
    )


def main() -> None:
    if sys.argv[1:] == ["--files"]:
        print(";".join(mutated_files()), end="")
        return
    root, out = (Path(argument) for argument in sys.argv[1:])
    for file in mutated_files():
        write_if_changed(out / file, mutate_file(root, file))
    write_if_changed(out / "mutations.cc", names())


if __name__ == "__main__":
    main()
