# dtypes rand
import torch
torch.set_printoptions(precision=8)
for dt in [torch.float16, torch.bfloat16, torch.float32, torch.float64]:
    torch.manual_seed(5)
    print(torch.rand(20, dtype=dt))
    print(torch.randn(20, dtype=dt))
    print(torch.randn(5, dtype=dt))
    print(torch.empty(18, dtype=dt).uniform_(-2, 3))
    print(torch.empty(18, dtype=dt).normal_(1, 2))
    print(torch.empty(5, dtype=dt).exponential_())
    print(torch.empty(5, dtype=dt).cauchy_())
    print(torch.empty(5, dtype=dt).log_normal_())
    print(torch.empty(5, dtype=dt).geometric_(0.3))
    print(torch.empty(5, dtype=dt).random_(10))
    print(torch.empty(5, dtype=dt).bernoulli_(0.3))
