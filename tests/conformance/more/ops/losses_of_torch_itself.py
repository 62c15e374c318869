import torch

x = torch.tensor([[0.5, -1.5], [2.0, 0.25]], requires_grad=True)
y = torch.tensor([[1.5, 0.75], [0.5, 2.0]], requires_grad=True)
sides = torch.tensor([[1.0, -1.0], [-1.0, 1.0]])
shares = y.detach() / 3
losses = {
    "bce": lambda: torch.binary_cross_entropy_with_logits(x, shares),
    "bce mean": lambda: torch.binary_cross_entropy_with_logits(x, shares, sides, None, 1),
    "cosine": lambda: torch.cosine_embedding_loss(x, y, torch.tensor([1, -1])),
    "cosine sum": lambda: torch.cosine_embedding_loss(x, y, torch.tensor([1, -1]), 0.1, 2),
    "hinge": lambda: torch.hinge_embedding_loss(x * y, sides, 2.0, 1),
    "kl_div": lambda: torch.kl_div(x, shares),
    "kl_div mean": lambda: torch.kl_div(x, shares, 1, log_target=True),
    "ranking": lambda: torch.margin_ranking_loss(x, y, sides, 0.3),
    "poisson": lambda: torch.poisson_nll_loss(x, shares, True, True, 1e-8, 1),
    "triplet": lambda: torch.triplet_margin_loss(x, y, x * y, 1.0, 1.0, 1e-6, True),
    "distance": lambda: torch.pairwise_distance(x, y, 1.0, 1e-6, True),
    "fill": lambda: torch.fill(x, 2.0),
    "fill tensor": lambda: torch.fill(x, y.sum()),
    "pad": lambda: torch.constant_pad_nd(x, (1, -1), 2.0),
    "embedding": lambda: torch.embedding(x, torch.tensor([1, 0, 1]), 1),
    "layer_norm": lambda: torch.layer_norm(x, (2,), y[0], y[1], 0.1),
    "batch_norm": lambda: torch.batch_norm(x, y[0], y[1], None, None, True, 0.1, 0.5, False),
}
for name, loss in losses.items():
    value = loss()
    print(name, value, torch.autograd.grad((value * value).sum(), (x, y), allow_unused=True))
torch.manual_seed(0)
print(torch.dropout_(x * 1, 0.5, True))
print(torch.range(0, 5), torch.range(3, 1, -1, dtype=torch.int64))


def told(run):
    try:
        print(run())
    except Exception as error:
        print(type(error).__name__, error)


told(lambda: torch.poisson_nll_loss(x, y))
told(lambda: torch.kl_div(x, y, "mean"))
told(lambda: torch.constant_pad_nd(x, (1,)))
told(lambda: torch.fill(x, sides))
told(lambda: torch.dropout_(x, 0.5, True))
told(lambda: torch.range(1, 2, 0))
