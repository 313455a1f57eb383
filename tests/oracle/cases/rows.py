"""Rows picked and written by number."""

from .common import *


def cases(table):
    random = table.random("get_rows")
    for ids_type in (torch.int32, torch.int64):
        for dtype in FLOATS + [torch.int32]:
            table_rows = (random.integers(-99, 99, 6, 5) if dtype == torch.int32 else
                          random.normal(6, 5, dtype=dtype))
            ids = random.integers(0, 6, 4, dtype=ids_type)
            result = F.embedding(ids, table_rows.double())
            result = result.int() if dtype == torch.int32 else result
            table.add("get_rows", [table_rows, ids], result, max_error=EXACT)
    for blocks in (random.q8_0(5, 64), random.q4_0(5, 64)):
        ids = random.integers(0, 5, 3)
        table.add("get_rows", [blocks, ids], F.embedding(ids, blocks.double()), max_error=EXACT)
    slices, ids = random.normal(2, 3, 6, 5), random.integers(0, 6, 2, 3, 4)
    index = ids.long().unsqueeze(-1).expand(2, 3, 4, 5)
    table.add("get_rows", [slices, ids], torch.gather(slices.double(), 2, index), max_error=EXACT,
              what="slices")

    random = table.random("set_rows")
    for ids_type in (torch.int32, torch.int64):
        for dtype in FLOATS:
            dst, rows = random.normal(7, 5, dtype=dtype), random.normal(4, 5)
            ids = random.permutation(7)[:4].to(ids_type)
            result = dst.index_copy(0, ids.long(), rows.to(dtype))
            # torch rounds as the type does.
            table.add("set_rows", [dst, rows, ids], result, max_error=EXACT)
    for dst, new in [(random.q8_0(6, 64), random.q8_0(2, 64)),
                     (random.q4_0(6, 64), random.q4_0(2, 64))]:
        ids = random.permutation(6)[:2]
        result = Typed(dst.type, dst.values.index_copy(0, ids.long(), new.values))
        table.add("set_rows", [dst, new.values.float(), ids], result, max_error=EXACT)
    dst, new = random.normal(2, 3, 6, 5), random.normal(2, 3, 2, 5)
    ids = torch.stack([random.permutation(6)[:2] for _ in range(3)])  # the same for both
    index = ids.long().unsqueeze(-1).expand(2, 3, 2, 5)
    table.add("set_rows", [dst, new, ids], dst.scatter(2, index, new), max_error=EXACT,
              what="slices")
