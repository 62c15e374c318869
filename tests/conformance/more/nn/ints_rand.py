# ints rand
import torch
for dt in [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool]:
    torch.manual_seed(5)
    try:
        print(torch.randint(0, 2, (6,), dtype=dt))
        print(torch.empty(5, dtype=dt).random_())
        print(torch.zeros(5, dtype=dt).random_(0, 2))
        print(torch.zeros(5, dtype=dt).bernoulli_(0.5))
        print(torch.empty(5, dtype=dt).geometric_(0.3))
        print(torch.randint(-3, 3, (6,), dtype=dt))
    except Exception as e:
        print(type(e).__name__, e)
