import torch

x = torch.tensor([1.5, -2.0])
mask = x > 0
for f in (lambda: x - mask, lambda: mask - x, lambda: 1 - mask, lambda: mask - 1, lambda: x - True, lambda: True - x, lambda: mask - mask):
    try:
        print(f())
    except RuntimeError as e:
        print(e)
print(x - mask.float(), mask + x, mask * 2)
