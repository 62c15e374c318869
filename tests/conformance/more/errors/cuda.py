import torch
x = torch.ones(2, requires_grad=True)
for f in [lambda: x.cuda(), lambda: x.to("cuda"), lambda: torch.ones(2, device="cuda"), lambda: torch.rand(2, device="cuda:0"), lambda: torch.zeros_like(x, device="cuda"), lambda: torch.ones(2, device="gpu"), lambda: torch.device("foo"), lambda: torch.device("cuda:x")]:
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, str(e)[-60:])
