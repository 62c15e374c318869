import torch

print(torch.gcd(torch.tensor([12, 18, 7]), torch.tensor(6)), torch.lcm(torch.tensor([4, 6]), torch.tensor([6, 10])))
print(torch.isin(torch.tensor([1, 2, 3]), torch.tensor([2, 5])), torch.isin(torch.tensor([1, 2]), 2, invert=True))
x = torch.tensor([1.0, float("inf"), -float("inf"), float("nan")])
print(torch.isposinf(x), torch.isneginf(x), torch.isreal(x), torch.real(x))
print(torch.vander(torch.tensor([1, 2, 3])), torch.vander(torch.tensor([1.0, 2.0]), 3, increasing=True))
k = torch.tensor([0, 2, 3])
k.logical_not_()
print(k, torch.tensor([0.0, 2.0]).logical_and_(torch.tensor([1.0, 1.0])))
print(torch.linspace(-1, 1, 6, dtype=torch.float16), torch.linspace(-1, 1, 6, dtype=torch.bfloat16))
