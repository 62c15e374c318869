import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

# attention by hand and in one piece
q = torch.randn(1, 1, 3, 4, dtype=torch.float64, requires_grad=True)
k = torch.randn(1, 1, 5, 4, dtype=torch.float64, requires_grad=True)
v = torch.randn(1, 1, 5, 4, dtype=torch.float64, requires_grad=True)
scores = q @ k.transpose(-2, -1) / 2
by_hand = torch.softmax(scores, -1) @ v
at_once = F.scaled_dot_product_attention(q, k, v)
print(at_once)
print(torch.allclose(by_hand, at_once), at_once.grad_fn.name())
at_once.pow(2).sum().backward()
print(q.grad, v.grad[0, 0, 0], sep="\n")
causal = F.scaled_dot_product_attention(q[0, 0], k[0, 0], v[0, 0], is_causal=True)
print(causal[0], v[0, 0, 0], causal.grad_fn.name())

# several heads
mha = nn.MultiheadAttention(8, 2, batch_first=True)
print(mha)
print([(name, tuple(p.shape)) for name, p in mha.named_parameters()])
print(mha.in_proj_weight[0], mha.out_proj.weight[0], sep="\n")
x = torch.randn(2, 3, 8)
out, weights = mha(x, x, x)
print(out.shape, weights.shape, weights.sum(-1).detach())
print(out[0, 0])
future = torch.triu(torch.ones(3, 3, dtype=torch.bool), 1)
_, masked = mha(x, x, x, attn_mask=future)
print(masked[0])
out, nothing = mha(x, x, x, need_weights=False)
print(nothing, out.grad_fn.name())
out.sum().backward()
print(f"{mha.in_proj_weight.grad.norm().item():.4f}")

# a block of a transformer, trained for a few steps
torch.manual_seed(2)
attend = nn.MultiheadAttention(8, 2, batch_first=True)
norm, feed = nn.LayerNorm(8), nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))
head = nn.Linear(8, 3)
parameters = [p for part in (attend, norm, feed, head) for p in part.parameters()]
optimizer = torch.optim.AdamW(parameters, lr=0.01)
labels = torch.tensor([0, 2])
for step in range(5):
    h = norm(x + attend(x, x, x)[0])
    h = h + feed(h)
    loss = F.cross_entropy(head(h.mean(1)), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, f"{loss.item():.3f}")

# distances, margins and hard choices
a, b = torch.tensor([[1.0, 2.0], [3.0, -1.0]]), torch.tensor([[2.0, 0.5], [3.0, 1.0]])
print(nn.CosineSimilarity()(a, b), nn.PairwiseDistance(p=1)(a, b), nn.Bilinear(2, 2, 1), sep="\n")
print(nn.MultiMarginLoss()(a, torch.tensor([1, 0])), nn.MultiLabelSoftMarginLoss()(a, (b > 1).float()))
torch.manual_seed(3)
print(F.gumbel_softmax(a, tau=0.5, hard=True))
print(F.relu_(a - 2), F.rrelu(a - 2), nn.Softmax2d()(torch.zeros(2, 1, 1)).flatten())

for call in (
    lambda: nn.MultiheadAttention(8, 3),
    lambda: mha(torch.zeros(1, 3, 7), torch.zeros(1, 3, 7), torch.zeros(1, 3, 7)),
    lambda: mha(x, x, x, attn_mask=torch.zeros(2, 2)),
    lambda: F.scaled_dot_product_attention(torch.zeros(3), torch.zeros(3), torch.zeros(3)),
    lambda: F.multi_margin_loss(a, torch.tensor([0, 2])),
    lambda: nn.Bilinear(2, 2, 1)(torch.zeros(3, 2), torch.zeros(2, 2)),
):
    try:
        call()
    except Exception as e:
        print(type(e).__name__, e)
