"""Recurrences, token by token, as the papers write them: states are matrices [value, key] or
[key, value] of each head, and what is done to them are products of vectors."""

from .common import *


def packed(outputs, states):
    """A node's result: for each sequence the rows of outputs, then those of the state."""
    tokens = torch.stack(outputs, dim=1).flatten(2)
    return torch.cat([tokens, states.reshape(states.shape[0], -1, tokens.shape[2])], dim=1)


def chosen(random, shape, ids):
    """States, and those that the sequences begin with."""
    states = random.normal(*shape)
    return states, (states if ids is None else states[ids.long()]).double()


def choices(random, sequences):
    """Without numbers, then with: how many states there are, and ids."""
    yield sequences, None
    yield 5, random.permutation(5)[:sequences]
    yield 4, random.permutation(4, torch.int64)[:sequences]


S, T, H, K, V = 2, 3, 2, 4, 3


def at(t, *tensors):
    return [x.double()[:, t] for x in tensors]


# Ends of sequences in a call, and the number of its tokens.
ENDS = [([4], 4), ([1, 3, 6], 6), ([2, 2, 5], 7), ([0, 1], 1)]


def add_with_ends(table, op, walk, sources, over_tokens, states, ids, ends, **params):
    """A case with ends: each sequence by itself, then all results in one. `walk` takes the sources
    of one sequence and its state; it returns the outputs of its tokens, and the state after."""
    tokens = sources[over_tokens[0]].shape[1]
    rows, after, first = [], [], 0
    for s, end in enumerate(ends):
        own = [x[:, first:end] if i in over_tokens else x for i, x in enumerate(sources)]
        number = s if ids is None else int(ids[s])
        outputs, state = walk(*own, states[number:number + 1].double())
        rows += [y.flatten() for y in outputs]
        after.append(state.flatten())
        first = end
    # [1, T, H, V]: T rows of all channels, of which those of no sequence are zeros.
    channels = after[0].numel() // state_rows(op, states)
    rows += [torch.zeros(channels, dtype=torch.float64)] * (tokens - first)
    result = torch.cat([torch.cat(rows), torch.cat(after)]).reshape(1, -1, channels)
    table.add(op, [*sources, states, ids, tensor(ends, torch.int32)], result,
              what="sequences of different lengths", **params)


def state_rows(op, states):
    """Rows of a state in the result, each as long as the outputs of a token."""
    key_dim = {"ssm_conv": 1, "rwkv_wkv6": 2, "gated_linear_attn": 2}.get(op, 3)
    return states.shape[key_dim]


def choices_with_ends(table, op):
    """Without numbers, then with: random numbers, ends, T, how many states there are, and ids."""
    random = table.random(op + " with ends")
    for ends, tokens in ENDS:
        yield random, ends, tokens, len(ends), None
        yield random, ends, tokens, 5, random.permutation(5)[:len(ends)]


def walk_ssm_conv(x, w, state):
    taps = w.shape[1]
    z = torch.cat([state, x.double()], dim=1).mT  # [S, D, K - 1 + T]
    after = z[..., z.shape[2] - (taps - 1):].mT
    if x.shape[1] == 0:
        return [], after
    y = F.conv1d(z, w.double().unsqueeze(1), groups=x.shape[2])
    return list(y.unbind(2)), after


def ssm_conv(table):
    random = table.random("ssm_conv")
    for count, ids in choices(random, S):
        for taps in (4, 1, 2):
            channels = 5
            x, w = random.normal(S, T, channels), random.normal(channels, taps)
            states, first = chosen(random, (count, taps - 1, channels), ids)
            outputs, after = walk_ssm_conv(x, w, first)
            table.add("ssm_conv", [x, w, states, ids],
                      torch.cat([torch.stack(outputs, dim=1), after], dim=1))
    for random, ends, tokens, count, ids in choices_with_ends(table, "ssm_conv"):
        x, w = random.normal(1, tokens, 5), random.normal(5, 4)
        states = random.normal(count, 3, 5)
        add_with_ends(table, "ssm_conv", walk_ssm_conv, [x, w], [0], states, ids, ends)


def walk_ssm_scan(x, dt, a, b, c, h):
    outputs = []
    for t in range(x.shape[1]):
        xt, dtt, bt, ct = at(t, x, dt, b, c)
        delta = F.softplus(dtt, threshold=100).unsqueeze(-1)
        heads_per_group = x.shape[2] // b.shape[2]
        bt, ct = (each.repeat_interleave(heads_per_group, dim=1) for each in (bt, ct))
        decay = torch.exp(delta * a.double())
        h = decay.unsqueeze(2) * h + torch.einsum("shp,shn->shpn", delta * xt, bt)
        outputs.append(torch.einsum("shpn,shn->shp", h, ct))
    return outputs, h


def ssm_scan(table):
    random = table.random("ssm_scan")
    for count, ids in choices(random, S):
        # Mamba 1: each channel a head, and a matrix A. Mamba 2: heads of channels, a number each.
        for p, heads, groups, n, n_of_a in [(1, 6, 1, 4, 4), (3, 4, 2, 5, 1), (2, 3, 3, 1, 1)]:
            x, dt = random.normal(S, T, heads, p), random.normal(S, T, heads)
            a = -random.uniform(0.1, 2, heads, n_of_a)
            b, c = random.normal(S, T, groups, n), random.normal(S, T, groups, n)
            states, h = chosen(random, (count, heads, p, n), ids)
            outputs, h = walk_ssm_scan(x, dt, a, b, c, h)
            table.add("ssm_scan", [x, dt, a, b, c, states, ids], packed_heads(outputs, h))
    for random, ends, tokens, count, ids in choices_with_ends(table, "ssm_scan"):
        x, dt = random.normal(1, tokens, 4, 3), random.normal(1, tokens, 4)
        a = -random.uniform(0.1, 2, 4, 1)
        b, c = random.normal(1, tokens, 2, 5), random.normal(1, tokens, 2, 5)
        states = random.normal(count, 4, 3, 5)
        add_with_ends(table, "ssm_scan", walk_ssm_scan, [x, dt, a, b, c], [0, 1, 3, 4], states,
                      ids, ends)


def packed_heads(outputs, states):
    return packed([y.flatten(1) for y in outputs], states)


def walk_rwkv_wkv6(r, w, k, v, u, state):
    outputs = []
    for t in range(r.shape[1]):
        rt, wt, kt, vt = at(t, r, w, k, v)
        new = torch.einsum("shk,shv->shkv", kt, vt)
        bonus = torch.diag_embed(u.double()) @ new
        outputs.append(torch.einsum("shk,shkv->shv", rt, state + bonus))
        state = torch.diag_embed(wt) @ state + new
    return outputs, state


def rwkv_wkv6(table):
    random = table.random("rwkv_wkv6")
    for count, ids in choices(random, S):
        r, k = random.normal(S, T, H, K), random.normal(S, T, H, K)
        w, v, u = random.uniform(0, 1, S, T, H, K), random.normal(S, T, H, V), random.normal(H, K)
        states, state = chosen(random, (count, H, K, V), ids)
        outputs, state = walk_rwkv_wkv6(r, w, k, v, u, state)
        table.add("rwkv_wkv6", [r, w, k, v, u, states, ids], packed(outputs, state))
    for random, ends, tokens, count, ids in choices_with_ends(table, "rwkv_wkv6"):
        r, k = random.normal(1, tokens, H, K), random.normal(1, tokens, H, K)
        w, v = random.uniform(0, 1, 1, tokens, H, K), random.normal(1, tokens, H, V)
        u, states = random.normal(H, K), random.normal(count, H, K, V)
        add_with_ends(table, "rwkv_wkv6", walk_rwkv_wkv6, [r, w, k, v, u], [0, 1, 2, 3], states,
                      ids, ends)


def walk_rwkv_wkv7(r, w, k, v, a, b, state):
    outputs = []
    for t in range(r.shape[1]):
        rt, wt, kt, vt, at_, bt = at(t, r, w, k, v, a, b)
        # S (diag(w) + a b^T) + v k^T
        transition = torch.diag_embed(wt) + at_.unsqueeze(-1) * bt.unsqueeze(-2)
        state = state @ transition + vt.unsqueeze(-1) * kt.unsqueeze(-2)
        outputs.append((state @ rt.unsqueeze(-1)).squeeze(-1))
    return outputs, state


def rwkv_wkv7(table):
    random = table.random("rwkv_wkv7")
    for count, ids in choices(random, S):
        r, k = random.normal(S, T, H, K), random.normal(S, T, H, K)
        w, v = random.uniform(0, 1, S, T, H, K), random.normal(S, T, H, V)
        a, b = random.normal(S, T, H, K, scale=0.5), random.normal(S, T, H, K, scale=0.5)
        states, state = chosen(random, (count, H, V, K), ids)
        outputs, state = walk_rwkv_wkv7(r, w, k, v, a, b, state)
        table.add("rwkv_wkv7", [r, w, k, v, a, b, states, ids], packed(outputs, state))
    for random, ends, tokens, count, ids in choices_with_ends(table, "rwkv_wkv7"):
        r, k = random.normal(1, tokens, H, K), random.normal(1, tokens, H, K)
        w, v = random.uniform(0, 1, 1, tokens, H, K), random.normal(1, tokens, H, V)
        a, b = (random.normal(1, tokens, H, K, scale=0.5) for _ in range(2))
        states = random.normal(count, H, V, K)
        add_with_ends(table, "rwkv_wkv7", walk_rwkv_wkv7, [r, w, k, v, a, b], [0, 1, 2, 3, 4, 5],
                      states, ids, ends)


def walk_gated_linear_attn(scale):
    def walk(q, k, v, gate, state):
        outputs = []
        for t in range(q.shape[1]):
            qt, kt, vt, gt = at(t, q, k, v, gate)
            state = torch.diag_embed(gt) @ state + kt.unsqueeze(-1) * vt.unsqueeze(-2)
            outputs.append(f32(scale) * (qt.unsqueeze(-2) @ state).squeeze(-2))
        return outputs, state
    return walk


def gated_linear_attn(table):
    random = table.random("gated_linear_attn")
    for count, ids in choices(random, S):
        for scale in (1.0, 0.3):
            q, k = random.normal(S, T, H, K), random.normal(S, T, H, K)
            v, gate = random.normal(S, T, H, V), random.uniform(0, 1, S, T, H, K)
            states, state = chosen(random, (count, H, K, V), ids)
            outputs, state = walk_gated_linear_attn(scale)(q, k, v, gate, state)
            table.add("gated_linear_attn", [q, k, v, gate, states, ids],
                      packed(outputs, state), scale=scale)
    for random, ends, tokens, count, ids in choices_with_ends(table, "gated_linear_attn"):
        q, k = random.normal(1, tokens, H, K), random.normal(1, tokens, H, K)
        v, gate = random.normal(1, tokens, H, V), random.uniform(0, 1, 1, tokens, H, K)
        states = random.normal(count, H, K, V)
        add_with_ends(table, "gated_linear_attn", walk_gated_linear_attn(0.3), [q, k, v, gate],
                      [0, 1, 2, 3], states, ids, ends, scale=0.3)


def walk_gated_delta_net(scale):
    def walk(q, k, v, gate, beta, state):
        outputs = []
        heads = v.shape[2]
        for t in range(q.shape[1]):
            qt, kt, vt, gt, bt = at(t, q, k, v, gate, beta)
            qt, kt = (each.repeat_interleave(heads // q.shape[2], dim=1) for each in (qt, kt))
            # S (alpha (I - beta k k^T)) + beta v k^T
            alpha = torch.diag_embed(gt.exp().expand(gt.shape[0], heads, K))
            erase = torch.eye(K, dtype=torch.float64) - bt.unsqueeze(-1) * (
                kt.unsqueeze(-1) * kt.unsqueeze(-2))
            state = state @ alpha @ erase
            state = state + bt.unsqueeze(-1) * (vt.unsqueeze(-1) * kt.unsqueeze(-2))
            outputs.append(f32(scale) * (state @ qt.unsqueeze(-1)).squeeze(-1))
        return outputs, state
    return walk


def gated_delta_net(table):
    random = table.random("gated_delta_net")
    for count, ids in choices(random, S):
        for gates, heads, scale in [(1, 4, 0.5), (K, 2, 1.0)]:
            q, k = (F.normalize(random.normal(S, T, 2, K), dim=-1) for _ in range(2))
            v, beta = random.normal(S, T, heads, V), random.uniform(0, 1, S, T, heads, 1)
            gate = -random.uniform(0, 1, S, T, heads, gates)
            states, state = chosen(random, (count, heads, V, K), ids)
            outputs, state = walk_gated_delta_net(scale)(q, k, v, gate, beta, state)
            table.add("gated_delta_net", [q, k, v, gate, beta, states, ids],
                      packed(outputs, state), scale=scale)
    for random, ends, tokens, count, ids in choices_with_ends(table, "gated_delta_net"):
        q, k = (F.normalize(random.normal(1, tokens, 2, K), dim=-1) for _ in range(2))
        v, beta = random.normal(1, tokens, 4, V), random.uniform(0, 1, 1, tokens, 4, 1)
        gate = -random.uniform(0, 1, 1, tokens, 4, K)
        states = random.normal(count, 4, V, K)
        add_with_ends(table, "gated_delta_net", walk_gated_delta_net(0.5), [q, k, v, gate, beta],
                      [0, 1, 2, 3, 4], states, ids, ends, scale=0.5)


def chunked(table):
    """Sequences of more tokens than a device computes at once, with decays from none to all."""
    for low, shares in [(-1.0, None), (-60.0, None), (0.0, 1.0), (-0.01, 0.0)]:
        random = table.random(f"gated_delta_net of many tokens {low}")
        q, k = (F.normalize(random.normal(1, 43, 1, K), dim=-1) for _ in range(2))
        v = random.normal(1, 43, 2, 12)
        beta = random.uniform(0, 1, 1, 43, 2, 1) if shares is None else torch.full((1, 43, 2, 1),
                                                                                  shares)
        gate = random.uniform(low, 0, 1, 43, 2, 1) if low < 0 else torch.zeros(1, 43, 2, 1)
        states = random.normal(2, 2, 12, K)
        add_with_ends(table, "gated_delta_net", walk_gated_delta_net(0.5), [q, k, v, gate, beta],
                      [0, 1, 2, 3, 4], states, None, [7, 43], scale=0.5)
    for low, high in [(-2, 2), (-30, 30)]:
        random = table.random(f"ssm_scan of many tokens {low}")
        x, dt = random.normal(1, 43, 2, 12), random.uniform(low, high, 1, 43, 2)
        a = -random.uniform(0.1, 2, 2, 1)
        b, c = random.normal(1, 43, 1, 4), random.normal(1, 43, 1, 4)
        states = random.normal(2, 2, 12, 4)
        add_with_ends(table, "ssm_scan", walk_ssm_scan, [x, dt, a, b, c], [0, 1, 3, 4], states,
                      None, [7, 43])


def cases(table):
    for each in (ssm_conv, ssm_scan, rwkv_wkv6, rwkv_wkv7, gated_linear_attn, gated_delta_net, chunked):
        each(table)
