# state dict roundtrip
import torch
def make():
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    return x, torch.optim.Adam([x], lr=0.1, amsgrad=True)
x, o = make()
for i in range(3):
    o.zero_grad(); (x ** 2).sum().backward(); o.step()
sd = o.state_dict()
y, p = make()
with torch.no_grad():
    y.copy_(x)
p.load_state_dict(sd)
for i in range(3):
    o.zero_grad(); (x ** 2).sum().backward(); o.step()
    p.zero_grad(); (y ** 2).sum().backward(); p.step()
    print(x, y, torch.equal(x, y))
print(p.state_dict())
