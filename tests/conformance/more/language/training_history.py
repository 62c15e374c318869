import torch
history = {"loss": [], "grad": []}
w = torch.tensor([5.0, -3.0], requires_grad=True)
target = torch.tensor([1.0, 2.0])
lr, decay = 0.1, 0.5
step = 0
while True:
    loss = ((w - target) ** 2).sum()
    loss.backward()
    history["loss"].append(loss.item())
    history["grad"].append(w.grad.tolist())
    if loss < 1e-1 or step >= 8:
        break
    with torch.no_grad():
        w -= lr * w.grad
    w.grad.zero_()
    step += 1
    if step % 4 == 0:
        lr *= decay
        print(f"reduced lr to {lr}")
print(step, len(history["loss"]), *[f"{v:.4f}" for v in history["loss"]], sep=" | ")
best = min(range(len(history["loss"])), key=history["loss"].__getitem__) if False else history["loss"].index(min(history["loss"]))
print(best, history["grad"][best])
print({k: len(v) for k, v in history.items()}, sorted(history, reverse=True))
