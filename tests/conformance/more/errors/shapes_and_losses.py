import torch
a = torch.ones(2, 3); b = torch.ones(3, 2)
try:
    torch.allclose(a, b)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.isclose(a, b)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.logical_and(a, b)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.logical_xor(a, b)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(torch.allclose(a, torch.ones(3)), torch.isclose(a, torch.ones(3)))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.equal(a, b), print(torch.equal(a, b))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    a.copy_(b)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.ones(2).copy_(torch.ones(3))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.ones(2).copy_(torch.ones(2, 2))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.ones(2, 3).copy_(torch.ones(2))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(torch.ones(2, 3).copy_(torch.tensor([1., 2., 3.])))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    a.to(float), print(a.to(float).dtype, a.to(int).dtype, a.to(bool).dtype)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    a.to(str)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    a.type(int)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    a.type(1)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    a.type("float")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(a.type(torch.float64).dtype, a.type(torch.LongTensor).dtype, a.type("torch.IntTensor").dtype, a.type())
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.where(torch.tensor([True, False]), a, b)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    a.add_(b)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    a[0] = b
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    a += torch.ones(4)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    a.mul_(torch.ones(2, 2, 3))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.bitwise_and(torch.tensor([1, 2]), torch.tensor([1, 2, 3]))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.fmod(torch.ones(2), torch.ones(3))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.addcmul(torch.ones(2), torch.ones(3), torch.ones(3))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.lerp(torch.ones(2), torch.ones(3), 0.5)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.hypot(torch.ones(2), torch.ones(3))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.xlogy(torch.ones(2), torch.ones(3))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.nn.functional.mse_loss(torch.ones(2), torch.ones(3))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.nn.functional.binary_cross_entropy(torch.ones(2), torch.ones(3))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.nn.functional.cross_entropy(torch.ones(2, 3), torch.tensor([0, 5]))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.nn.functional.cross_entropy(torch.ones(2, 3), torch.tensor([0]))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.nn.functional.cross_entropy(torch.ones(2, 3), torch.tensor([0., 1.]))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.nn.functional.nll_loss(torch.ones(2, 3), torch.tensor([0.5, 1.]))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.nn.functional.linear(torch.ones(2), torch.ones(3, 3))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.nn.Linear(2, 3)(torch.ones(3))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.nn.Linear(2, 3)(torch.ones(2, dtype=torch.int64))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.nn.Linear(2, 3)(torch.ones(2, dtype=torch.float64))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.nn.Linear(2)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.nn.Linear("a", 2)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.nn.MSELoss()(torch.ones(2))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.nn.Sequential(1)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.optim.SGD([torch.ones(2)], lr=0.1)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.optim.SGD([], lr=0.1)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.optim.SGD(torch.ones(2, requires_grad=True), lr=0.1)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=-1)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.optim.SGD([torch.ones(2, requires_grad=True) * 2], lr=0.1)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.optim.Adam([torch.ones(2, requires_grad=True)], betas=(1.5, 0.9))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.optim.SGD([5], lr=0.1)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.optim.SGD([torch.ones(2, requires_grad=True)], foo=0.1)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.optim.SGD(lr=0.1)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    torch.optim.SGD([torch.ones(2, requires_grad=True)], lr="a")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
