import torch
a = torch.tensor(3.14159)
print(a.item(), float(a), a.tolist(), int(a), str(a), repr(a), f"{a}", f"{a:.2f}", a.numpy(), bool(a), round(a.item(), 2), format(a, ".3f"), "%.2f" % a)
b = torch.tensor([1.5, 2.5])
print(b.tolist(), b.numpy(), f"{b}", str(b), list(b), [float(v) for v in b], b.numpy().tolist(), tuple(b), b.sum().item())
c = torch.tensor([[1, 2], [3, 4]])
print(torch.tensor(0.1).item(), torch.tensor(0.1, dtype=torch.float64).item(), torch.tensor([0.1, 0.2]).tolist(), torch.tensor(1e10).item(), torch.tensor(1).item() / 3)
print(int(torch.tensor(2.7)), round(torch.tensor(2.7).item()), torch.tensor(2.5).round(), torch.tensor(7) // 2, torch.tensor(-7) // 2, torch.tensor(-7) % 3, abs(torch.tensor(-2)), -torch.tensor(1.), round(torch.tensor(2.345), decimals=2) if False else "", divmod(7, 2))
try:
    round(torch.tensor(2.345), 2)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(round(torch.tensor(2.345)))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(sum(torch.tensor([1, 2, 3])), max(torch.tensor([1, 2, 3])), min(torch.tensor([3., 1.])), sorted(torch.tensor([3, 1, 2])), any(torch.tensor([0, 1])), all(torch.tensor([1, 1])))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(max(torch.tensor(1), torch.tensor(2)), max(torch.tensor([1, 2]), torch.tensor([3, 0])))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(divmod(torch.tensor(7), 2))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(len(torch.tensor(1)))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(list(torch.tensor(1)))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(list(zip(torch.ones(2), "ab")), list(enumerate(torch.ones(2))), list(map(float, torch.ones(2))), list(reversed(torch.arange(3))))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("a" in torch.ones(2))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(torch.ones(2) in torch.ones(2))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(torch.ones(2) == None, torch.ones(2) != "a", torch.ones(2) is None, torch.ones(2) == [1., 1.])
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(torch.ones(2) and 1)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(not torch.tensor([0.]), bool(torch.tensor([])), torch.tensor(1.) or 5)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    if torch.ones(2): pass
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    while torch.ones(2) > 0: pass
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(torch.ones(2) < "a")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(torch.ones(2) + "a")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("a" + torch.ones(2))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print([1, 2] + torch.ones(2))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(torch.ones(2) + [1, 2])
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(None + torch.ones(2))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(torch.ones(2) * None)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(torch.ones(2) + None)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(torch.ones(2) ** "a")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("a" * torch.tensor(3), [1] * torch.tensor(2))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(torch.ones(2) @ 2)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(2 @ torch.ones(2))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(~torch.ones(2))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(torch.ones(2) << 1, 1 << torch.tensor(2), torch.tensor(5) & 3, torch.tensor(5) | 2, torch.tensor(True) ^ True)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(torch.ones(2) & 1)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(-torch.tensor(True))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(torch.tensor(True) - torch.tensor(True))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(torch.tensor([True]) + torch.tensor([True]), torch.tensor(True) * 2, +torch.tensor(True), torch.tensor(True) / 2)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print([1, 2, 3][torch.tensor(1)], "abc"[torch.tensor(0)], range(torch.tensor(3)), list(range(torch.tensor(3))), [0] * torch.tensor(2).item(), {torch.tensor(1).item(): 2})
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print([1, 2, 3][torch.tensor(1.0)])
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print([1, 2, 3][torch.tensor([1])], [1, 2, 3][torch.tensor([0, 1])])
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(range(torch.tensor(3.0)))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    import math; print(math.sqrt(torch.tensor(4.)), math.exp(torch.tensor([0.])), math.floor(torch.tensor(2.5)), math.ceil(torch.tensor(2.5)), math.isnan(torch.tensor(float("nan"))))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    math.sqrt(torch.ones(2))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    math.sqrt(-1)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    math.sqrt("a")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    math.log(0)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    math.foo
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(float(torch.ones(2)))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(int(torch.tensor(float("nan"))))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(int(torch.tensor(float("inf"))))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(float("abc"), 1)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))

