import torch
class_names = ["cat", "dog", "bird"]
logits = torch.tensor([[2.0, 0.5, -1.0], [0.1, 0.2, 3.0]], requires_grad=True)
probs = torch.softmax(logits, dim=1)
conf, pred = probs.max(dim=1)
for i, (c, p) in enumerate(zip(conf, pred)):
    print(f"sample {i}: {class_names[p]:>5s} ({c:.1%})")
labels = torch.tensor([0, 1])
loss = torch.nn.functional.cross_entropy(logits, labels)
loss.backward()
print(f"loss={loss.item():.4f}")
onehot = torch.nn.functional.one_hot(labels, 3)
print(torch.allclose(logits.grad, (probs - onehot) / 2))
print((pred == labels).float().mean().item(), (pred == labels).sum().item(), "/", len(labels))
topv, topi = probs.topk(2, dim=1)
print([[class_names[j] for j in row] for row in topi.tolist()])
