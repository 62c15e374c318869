import torch
import torch.nn as nn

torch.manual_seed(0)

# every kind: repr, parameters, shapes
for net in (nn.RNN(2, 3), nn.GRU(2, 3, num_layers=2, batch_first=True), nn.LSTM(2, 3, bidirectional=True), nn.LSTMCell(2, 3)):
    print(net)
    print({name: tuple(p.shape) for name, p in net.named_parameters()})
    print(f"{sum(p.sum().item() for p in net.parameters()):.4f}")

# an LSTM over a sequence
lstm = nn.LSTM(2, 3)
x = torch.tensor([[[0.5, -1.0]], [[1.0, 2.0]], [[-0.5, 0.0]]], requires_grad=True)
out, (h, c) = lstm(x)
print(out)
print(h, c, sep="\n")
print(torch.equal(out[-1], h[0]), out.grad_fn.name(), h.grad_fn.name())
out.sum().backward()
print(x.grad.squeeze(1))
print(lstm.weight_hh_l0.grad[:3])

# an unbatched GRU with a state of its own
gru = nn.GRU(2, 2, batch_first=True)
y, hidden = gru(torch.ones(4, 2), torch.zeros(1, 2))
print(y.shape, hidden.shape, y.grad_fn.name())
print(y)

# a cell in a loop
cell = nn.RNNCell(1, 2)
state = torch.zeros(1, 2)
for value in (1.0, 0.0, -1.0):
    state = cell(torch.tensor([[value]]), state)
print(state)

# learning to add up
torch.manual_seed(1)
net = nn.RNN(1, 8, batch_first=True)
head = nn.Linear(8, 1)
optimizer = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=0.02)
sequences = torch.rand(16, 5, 1)
wanted = sequences.sum(1)
for step in range(31):
    outputs, _ = net(sequences)
    loss = nn.functional.mse_loss(head(outputs[:, -1]), wanted)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    if step % 10 == 0:
        print(step, f"{loss.item():.3f}")

for call in (
    lambda: lstm(torch.zeros(1, 1, 3)),
    lambda: lstm(torch.zeros(2)),
    lambda: nn.RNN(2, 3)(torch.zeros(1, 1, 2), torch.zeros(1, 1, 2)),
    lambda: nn.RNN(2, 3, nonlinearity="sigmoid"),
    lambda: nn.GRU(2),
    lambda: cell(torch.zeros(1, 2)),
):
    try:
        call()
    except Exception as e:
        print(type(e).__name__, e)
