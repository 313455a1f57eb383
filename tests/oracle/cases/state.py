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


def ssm_conv(table):
    random = table.random("ssm_conv")
    for count, ids in choices(random, S):
        for taps in (4, 1, 2):
            channels = 5
            x, w = random.normal(S, T, channels), random.normal(channels, taps)
            states, first = chosen(random, (count, taps - 1, channels), ids)
            z = torch.cat([first, x.double()], dim=1).mT  # [S, D, K - 1 + T]
            y = F.conv1d(z, w.double().unsqueeze(1), groups=channels)
            after = z[..., z.shape[2] - (taps - 1):].mT
            table.add("ssm_conv", [x, w, states, ids], torch.cat([y.mT, after], dim=1))


def ssm_scan(table):
    random = table.random("ssm_scan")
    for count, ids in choices(random, S):
        # Mamba 1: each channel a head, and a matrix A. Mamba 2: heads of channels, a number each.
        for p, heads, groups, n, n_of_a in [(1, 6, 1, 4, 4), (3, 4, 2, 5, 1), (2, 3, 3, 1, 1)]:
            x, dt = random.normal(S, T, heads, p), random.normal(S, T, heads)
            a = -random.uniform(0.1, 2, heads, n_of_a)
            b, c = random.normal(S, T, groups, n), random.normal(S, T, groups, n)
            states, h = chosen(random, (count, heads, p, n), ids)
            outputs = []
            for t in range(T):
                xt, dtt, bt, ct = at(t, x, dt, b, c)
                delta = F.softplus(dtt, threshold=100).unsqueeze(-1)
                bt, ct = (each.repeat_interleave(heads // groups, dim=1) for each in (bt, ct))
                decay = torch.exp(delta * a.double())
                h = decay.unsqueeze(2) * h + torch.einsum("shp,shn->shpn", delta * xt, bt)
                outputs.append(torch.einsum("shpn,shn->shp", h, ct))
            table.add("ssm_scan", [x, dt, a, b, c, states, ids], packed_heads(outputs, h))


def packed_heads(outputs, states):
    return packed([y.flatten(1) for y in outputs], states)


def rwkv_wkv6(table):
    random = table.random("rwkv_wkv6")
    for count, ids in choices(random, S):
        r, k = random.normal(S, T, H, K), random.normal(S, T, H, K)
        w, v, u = random.uniform(0, 1, S, T, H, K), random.normal(S, T, H, V), random.normal(H, K)
        states, state = chosen(random, (count, H, K, V), ids)
        outputs = []
        for t in range(T):
            rt, wt, kt, vt = at(t, r, w, k, v)
            new = torch.einsum("shk,shv->shkv", kt, vt)
            bonus = torch.diag_embed(u.double()) @ new
            outputs.append(torch.einsum("shk,shkv->shv", rt, state + bonus))
            state = torch.diag_embed(wt) @ state + new
        table.add("rwkv_wkv6", [r, w, k, v, u, states, ids], packed(outputs, state))


def rwkv_wkv7(table):
    random = table.random("rwkv_wkv7")
    for count, ids in choices(random, S):
        r, k = random.normal(S, T, H, K), random.normal(S, T, H, K)
        w, v = random.uniform(0, 1, S, T, H, K), random.normal(S, T, H, V)
        a, b = random.normal(S, T, H, K, scale=0.5), random.normal(S, T, H, K, scale=0.5)
        states, state = chosen(random, (count, H, V, K), ids)
        outputs = []
        for t in range(T):
            rt, wt, kt, vt, at_, bt = at(t, r, w, k, v, a, b)
            # S (diag(w) + a b^T) + v k^T
            transition = torch.diag_embed(wt) + at_.unsqueeze(-1) * bt.unsqueeze(-2)
            state = state @ transition + vt.unsqueeze(-1) * kt.unsqueeze(-2)
            outputs.append((state @ rt.unsqueeze(-1)).squeeze(-1))
        table.add("rwkv_wkv7", [r, w, k, v, a, b, states, ids], packed(outputs, state))


def gated_linear_attn(table):
    random = table.random("gated_linear_attn")
    for count, ids in choices(random, S):
        for scale in (1.0, 0.3):
            q, k = random.normal(S, T, H, K), random.normal(S, T, H, K)
            v, gate = random.normal(S, T, H, V), random.uniform(0, 1, S, T, H, K)
            states, state = chosen(random, (count, H, K, V), ids)
            outputs = []
            for t in range(T):
                qt, kt, vt, gt = at(t, q, k, v, gate)
                state = torch.diag_embed(gt) @ state + kt.unsqueeze(-1) * vt.unsqueeze(-2)
                outputs.append(f32(scale) * (qt.unsqueeze(-2) @ state).squeeze(-2))
            table.add("gated_linear_attn", [q, k, v, gate, states, ids],
                      packed(outputs, state), scale=scale)


def gated_delta_net(table):
    random = table.random("gated_delta_net")
    for count, ids in choices(random, S):
        for gates, heads, scale in [(1, 4, 0.5), (K, 2, 1.0)]:
            q, k = (F.normalize(random.normal(S, T, 2, K), dim=-1) for _ in range(2))
            v, beta = random.normal(S, T, heads, V), random.uniform(0, 1, S, T, heads, 1)
            gate = -random.uniform(0, 1, S, T, heads, gates)
            states, state = chosen(random, (count, heads, V, K), ids)
            outputs = []
            for t in range(T):
                qt, kt, vt, gt, bt = at(t, q, k, v, gate, beta)
                qt, kt = (each.repeat_interleave(heads // 2, dim=1) for each in (qt, kt))
                # S (alpha (I - beta k k^T)) + beta v k^T
                alpha = torch.diag_embed(gt.exp().expand(S, heads, K))
                erase = torch.eye(K, dtype=torch.float64) - bt.unsqueeze(-1) * (
                    kt.unsqueeze(-1) * kt.unsqueeze(-2))
                state = state @ alpha @ erase
                state = state + bt.unsqueeze(-1) * (vt.unsqueeze(-1) * kt.unsqueeze(-2))
                outputs.append(f32(scale) * (state @ qt.unsqueeze(-1)).squeeze(-1))
            table.add("gated_delta_net", [q, k, v, gate, beta, states, ids],
                      packed(outputs, state), scale=scale)


def cases(table):
    for each in (ssm_conv, ssm_scan, rwkv_wkv6, rwkv_wkv7, gated_linear_attn, gated_delta_net):
        each(table)
