import torch
a = torch.tensor([1., 2., 3.], requires_grad=True)
def attempt(make, change):
    a.grad = None
    h, kept = make()
    change(kept)
    try:
        h.sum().backward()
        print("ok", a.grad)
    except RuntimeError as e:
        print(str(e).split(": ")[1].split(";")[0])
idx = lambda: torch.tensor([0, 1])
def pick(): i = idx(); return a[i], i
def mask(): m = a > 1; return a[m], m
def fill(): m = a > 1; return a.masked_fill(m, 0.), m
def choose(): m = a > 1; return torch.where(m, a, 0.), m
def select(): i = idx(); return a.index_select(0, i), i
def loss(): t = torch.tensor([0]); return torch.nn.functional.cross_entropy(a[None], t), t
for f in (pick, mask, fill, choose, select, loss):
    attempt(f, lambda k: None)
    attempt(f, lambda k: k.zero_())
