"""Double precision for the parts of transformers that cast to single precision: norms, softmax, rope."""

import torch
from torch.overrides import TorchFunctionMode


class Double(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        # The smallest distance of a last chosen expert to the next one, in units of their scores.
        self.margin = 1.0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is torch.Tensor.float:
            return args[0].double()
        wide = lambda x: torch.float64 if x is torch.float32 else x
        result = function(*map(wide, args), **{key: wide(x) for key, x in (kwargs or {}).items()})
        if function in (torch.topk, torch.Tensor.topk):
            self.measure(args[0], result.values)
        return result

    def measure(self, scores, chosen):
        k = chosen.shape[-1]
        if k < scores.shape[-1]:
            best = scores.sort(-1, descending=True).values
            last, following = best[..., k - 1], best[..., k]
            size = torch.maximum(last.abs(), following.abs().nan_to_num(posinf=0))  # groups that are out are at -infinity
            gap = (last - following) / size
            self.margin = min(self.margin, gap.min().item())
