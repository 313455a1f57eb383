"""Gradients, by torch's autograd, losses, and torch's optimisers."""

from .attention import ROPES, rope_inputs, rotate
from .common import *
from .convolution import WINDOWS, for_torch


def gradients(table):
    random = table.random("repeat_back")
    for shape, times in [((2, 3, 4), (2, 1, 3)), ((1, 5), (4, 1)), ((3, 1, 2, 1), (1, 2, 2, 7))]:
        x = torch.zeros(*shape)
        dy = random.normal(*(n * m for n, m in zip(shape, times)))
        sizes = ([1, 1, 1, 1] + list(shape))[-4:]
        table.add("repeat_back", [dy], gradient(lambda x: x.repeat(*times), [x], dy),
                  shape=list(reversed(sizes)))
    random = table.random("get_rows_back")
    for ids_type in (torch.int32, torch.int64):
        dy, ids = random.normal(9, 5), random.integers(0, 6, 9, dtype=ids_type)
        result = gradient(lambda w: F.embedding(ids, w), [torch.zeros(6, 5)], dy)
        table.add("get_rows_back", [dy, ids], result, rows=6)
    random = table.random("im2col_back")
    for window in WINDOWS:
        x = torch.zeros(2, 2, 4, 5)

        def unfold(x):
            return F.unfold(x, (2, 3), **for_torch(window)).mT

        dy = random.normal(*unfold(x).shape)
        result = gradient(unfold, [x], dy)
        reach = window.get("dilation", [1, 1])[0] * 2 + 1
        across = (5 + 2 * window.get("pad", [0, 0])[0] - reach) // window.get("stride", [1, 1])[0]
        table.add("im2col_back", [dy.unflatten(1, (-1, across + 1))], result, kernel=[3, 2],
                  image=[5, 4], **window)
    random = table.random("silu_back")
    for shape in [(3, 11), (2, 2, 5)]:
        dy, x = random.normal(*shape), random.normal(*shape, scale=3)
        table.add("silu_back", [dy, x], gradient(F.silu, [x], dy), max_error=ELEMENT)
    random = table.random("rms_norm_back")
    for eps in (1e-5, 0.1):
        dy, x = random.normal(2, 3, 13), random.normal(2, 3, 13)
        result = gradient(lambda x: F.rms_norm(x, x.shape[-1:], eps=f32(eps)), [x], dy)
        table.add("rms_norm_back", [dy, x], result, eps=eps)
    random = table.random("softmax_back")
    for scale in (1.0, 0.3):
        dy, x = random.normal(2, 3, 13), random.normal(2, 3, 13)
        # y is rounded to F32 before the gradient is taken from it: its own autograd says from what.
        y = F.softmax(x.double() * f32(scale), dim=-1).float()
        logits = torch.log(y.double()) / f32(scale)
        result = gradient(lambda z: F.softmax(z * f32(scale), dim=-1), [logits], dy)
        table.add("softmax_back", [dy, y], result, scale=scale)
    random = table.random("rope_back")
    for params in ROPES:
        dy, positions, factors = rope_inputs(random, params)
        for each in (None, factors):
            result = gradient(lambda x: rotate(x, positions, None if each is None
                                               else each.double(), **params),
                              [torch.zeros_like(dy)], dy)
            table.add("rope_back", [dy, positions, each], result, **params)


def losses(table):
    random = table.random("cross_entropy_loss")
    for shape in [(4, 11), (1, 3), (2, 3, 7)]:
        logits = random.normal(*shape, scale=2)
        for labels in (F.softmax(random.normal(*shape), dim=-1),
                       F.one_hot(random.integers(0, shape[-1], *shape[:-1]).long(),
                                 shape[-1]).float()):

            def loss(logits, labels):
                flat = [x.double().reshape(-1, shape[-1]) for x in (logits, labels)]
                return F.cross_entropy(*flat).reshape(1)

            table.add("cross_entropy_loss", [logits, labels], loss(logits, labels))
            dloss = random.normal(1)
            table.add("cross_entropy_loss_back", [dloss, logits, labels],
                      gradient(loss, [logits, labels], dloss))


def optimisers(table):
    random = table.random("opt_step_adamw")
    for params, rate in [({"weight_decay": 0.0}, 0.01),
                         ({"beta1": 0.8, "beta2": 0.95, "eps": 1e-3, "weight_decay": 0.1}, 0.25)]:
        exact = {name: f32(x) for name, x in
                 ({"beta1": 0.9, "beta2": 0.999, "eps": 1e-8} | params).items()}
        for step in (1, 2, 10):
            w, gradients = random.normal(3, 5), random.normal(3, 5)
            m = random.normal(3, 5) if step > 1 else torch.zeros(3, 5)
            v = random.uniform(0.01, 2, 3, 5) if step > 1 else torch.zeros(3, 5)
            parameter = torch.nn.Parameter(w.double().clone())
            optimiser = torch.optim.AdamW([parameter], lr=f32(rate),
                                          betas=(exact["beta1"], exact["beta2"]),
                                          eps=exact["eps"], weight_decay=exact["weight_decay"])
            state = {"step": tensor(float(step - 1)), "exp_avg": m.double().clone(),
                     "exp_avg_sq": v.double().clone()}
            optimiser.state[parameter] = state
            parameter.grad = gradients.double()
            optimiser.step()
            table.add("opt_step_adamw",
                      [w, gradients, m, v, tensor([rate]), tensor([step], torch.int32)],
                      parameter.detach(), written={2: state["exp_avg"], 3: state["exp_avg_sq"]},
                      **params)
            table.add("update_moment", [m, gradients], state["exp_avg"], beta=exact["beta1"],
                      power=1)
            table.add("update_moment", [v, gradients], state["exp_avg_sq"], beta=exact["beta2"],
                      power=2)
    random = table.random("opt_step_sgd")
    for decay in (0.0, 0.3):
        w, gradients, rate = random.normal(3, 7), random.normal(3, 7), 0.05
        parameter = torch.nn.Parameter(w.double().clone())
        parameter.grad = gradients.double()
        torch.optim.SGD([parameter], lr=f32(rate), weight_decay=f32(decay)).step()
        table.add("opt_step_sgd", [w, gradients, tensor([rate])], parameter.detach(),
                  weight_decay=decay)


def cases(table):
    gradients(table)
    losses(table)
    optimisers(table)
    random = table.random("acc")
    dst, x = random.normal(2, 3, 5), random.normal(2, 3, 5)
    table.add("acc", [dst, x], dst.double().add(x.double()), max_error=ELEMENT)
    for dtype, other in MIXED:
        dst, x = random.normal(3, 5, dtype=dtype), random.normal(3, 5, dtype=other)
        table.add("acc", [dst, x], dst.double().add(x.double()).to(dtype),
                  max_error=ROUNDING[dtype])
    random = table.random("count_equal")
    for shape in [(40,), (2, 3, 5)]:
        a, b = random.integers(0, 3, *shape), random.integers(0, 3, *shape)
        table.add("count_equal", [a, b], torch.eq(a, b).sum().reshape(1), max_error=EXACT)
    for a_type, b_type in [(torch.int64, torch.int64), (torch.int32, torch.int64)]:
        a, b = random.integers(0, 3, 30, dtype=a_type), random.integers(0, 3, 30, dtype=b_type)
        table.add("count_equal", [a, b], torch.eq(a, b).sum().reshape(1), max_error=EXACT)
    random = table.random("out_prod")
    for a in (random.normal(6, 5), random.normal(6, 5, dtype=torch.float16),
              random.normal(6, 5, dtype=torch.bfloat16), random.q8_0(3, 64), random.q4_0(3, 32)):
        b = random.normal(len(a.double()), 7)
        table.add("out_prod", [a, b], torch.einsum("km,kn->nm", a.double(), b.double()))
    a, b = random.normal(1, 2, 3, 5), random.normal(2, 4, 3, 6)
    shared = a.double().repeat_interleave(2, dim=0).repeat_interleave(2, dim=1)
    table.add("out_prod", [a, b], torch.einsum("abkm,abkn->abnm", shared, b.double()))
