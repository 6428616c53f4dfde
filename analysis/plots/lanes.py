"""A timeline as lanes of pieces, and arrows between them: what a figure of streams consists of.

Pure functions of timeline.json (its layout is described in analysis/timeline_io.h). Times are
integer nanoseconds of the run's clock.
"""

from dataclasses import dataclass, field

HOST_KINDS = {"host_span": "span", "host_block": "block"}
DEVICE_KINDS = {"kernel": "compute", "graph": "compute", "h2d": "h2d", "d2h": "d2h",
                "d2d": "copy", "peer": "copy"}
ORDER = ("span", "call", "block", "h2d", "compute", "carry", "copy", "wait", "d2h")


@dataclass(frozen=True)
class Piece:
    kind: str  # one of ORDER
    name: str  # of the operation; of a wait or block its site
    step: int  # -1: of none
    start: int
    end: int


@dataclass
class Lane:
    """The host, or a stream that was used."""

    label: str
    pieces: list = field(default_factory=list)


@dataclass(frozen=True)
class Arrow:
    """An event: recorded when lane `source` came to that point, let lane `target` go on at `end`."""

    source: int  # index of a lane
    target: int
    start: int
    end: int


def lanes(timeline, device=0):
    """The lanes of `device` and its host, in the order of a step's way, and the arrows."""
    names = timeline["names"]
    operations = _rows(timeline["operations"])
    for operation in operations:
        operation["kind"] = timeline["operation_kinds"][operation["kind"]]
        operation["name"] = names[operation["name"]]
    streams = timeline["streams"]
    by_stream = {index: Lane(label) for index, label in enumerate(streams["label"])
                 if streams["device"][index] == device}
    host = Lane("host")

    for index, operation in enumerate(operations):
        kind = operation["kind"]
        if kind in HOST_KINDS:
            if operation["host"] == device and _timed(operation):
                host.pieces.append(_piece(HOST_KINDS[kind], operation))
        elif kind in DEVICE_KINDS and operation["stream"] in by_stream:
            if _timed(operation):
                nodes = _nodes(operations, index) if kind == "graph" else []
                by_stream[operation["stream"]].pieces += nodes or [
                    _piece(DEVICE_KINDS[kind], operation)]
            if operation["issue_end"] > operation["issue_begin"]:
                host.pieces.append(Piece("call", operation["name"], operation["step"],
                                         operation["issue_begin"], operation["issue_end"]))

    waits, links = _order(timeline, operations, device)
    for stream, piece in waits:
        by_stream[stream].pieces.append(piece)
    used = {stream: lane for stream, lane in by_stream.items()
            if any(piece.kind != "wait" for piece in lane.pieces)}
    order = sorted(used, key=lambda stream: (_rank(used[stream]), stream))
    index_of = {"host": 0} | {stream: 1 + index for index, stream in enumerate(order)}
    result = [host, *(used[stream] for stream in order)]
    for lane in result:
        lane.pieces.sort(key=lambda piece: (piece.start, piece.end))
    arrows = [Arrow(index_of[source], index_of[target], start, end)
              for source, target, start, end in links if source in index_of and target in index_of]
    return result, arrows


def too_early(lane_list):
    """Where a step's work began before what it works on was there: its inputs' copy for compute,
    the last of its compute for the copy of its outputs. (lane's index, time) for each."""
    ends = {}
    for lane in lane_list:
        for piece in lane.pieces:
            key = piece.kind, piece.step
            ends[key] = max(ends.get(key, piece.end), piece.end)
    needs = {"compute": "h2d", "d2h": "compute"}
    return [(index, piece.start) for index, lane in enumerate(lane_list) for piece in lane.pieces
            if piece.step >= 0 and piece.kind in needs
            and piece.start < ends.get((needs[piece.kind], piece.step), piece.start)]


def window(lane_list, first, last):
    """From the first piece of step `first` to the end of the last one of step `last`; None if there
    is none. What a stream waited does not count."""
    inside = [piece for lane in lane_list for piece in lane.pieces
              if first <= piece.step <= last and piece.kind != "wait"]
    if not inside:
        return None
    return min(piece.start for piece in inside), max(piece.end for piece in inside)


def _rows(columns):
    return [dict(zip(columns, values)) for values in zip(*columns.values())]


def _timed(operation):
    return 0 <= operation["start"] <= operation["end"]


def _piece(kind, operation):
    return Piece(kind, operation["name"], operation["step"], operation["start"], operation["end"])


def _rank(lane):
    return min(ORDER.index(piece.kind) for piece in lane.pieces)


def _nodes(operations, graph):
    """The kernels and copies of the graph launch at index `graph`, one after the other; none where
    a time is unknown or where they overlap, since a lane is one bar high."""
    pieces = []
    for operation in operations[graph + 1:]:
        if operation["kind"] != "graph_node":
            break
        if not _timed(operation) or (pieces and operation["start"] < pieces[-1].end):
            return []
        pieces.append(_piece("carry" if operation["name"] == "carry" else "compute", operation))
    return pieces


def _order(timeline, operations, device):
    """What streams waited for: (stream, piece) for each wait that held one, and (source, target,
    start, end) for each event, where "host" stands for the host.

    A call has a place in the host's program, not a time. A stream has come to a position when all
    commands up to there are done, and a wait cannot hold it before the host made the call: that was
    after the operation or span logged before it.
    """
    reached = {}  # stream: by sequence number when it had passed that command
    now = 0  # of the host
    waits, links = [], []
    for call in _rows(timeline["calls"]):
        if call["host"] != device:
            continue
        kind = timeline["call_types"][call["type"]]
        operation = operations[call["operation"]] if call["operation"] < len(operations) else None
        at = reached.setdefault(call["at_stream"], [0])
        if kind == "enqueue":
            now = max(now, operation["issue_end"])
            at.append(max(at[-1], operation["end"]))
        elif kind in ("span", "block"):
            now = max(now, operation["end"])
            target = call["target_stream"]
            if kind == "block" and call["target_sequence"] > 0 and target in reached:
                links.append((target, "host", reached[target][call["target_sequence"]],
                              operation["end"]))
        elif kind in ("signal", "wait_flag"):
            at.append(at[-1])
        elif kind == "wait" and call["target_sequence"] > 0:
            begin = max(at[-1], now)
            done = reached[call["target_stream"]][call["target_sequence"]]
            end = max(begin, done)
            at.append(end)
            links.append((call["target_stream"], call["at_stream"], done, end))
            if end > begin:
                site = timeline["names"][call["site"]]
                waits.append((call["at_stream"], Piece("wait", site, -1, begin, end)))
    return waits, links
