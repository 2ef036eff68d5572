"""Findings while a timer interrupts the program every millisecond; its handler, in Python, makes findings too."""

import contextlib
import signal

import torch

PLACES, ROUNDS, TICKS = 300, 20, 200

cpu = torch.ones(2, 2)
meta = torch.empty(2, 2, device="meta")
places = [compile("cpu.copy_(meta)", f"place-{number}.py", "exec") for number in range(PLACES)]
ticks = 0
wrong = 0


def tick(number, frame):
    global ticks, wrong
    ticks += 1
    wrong += torch.ones(3).sum().item() != 3.0
    with contextlib.suppress(NotImplementedError):
        meta.cpu()


signal.signal(signal.SIGALRM, tick)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
raised = 0
for _ in range(ROUNDS):
    for place in places:
        try:
            exec(place, globals())
        except NotImplementedError:
            raised += 1
while ticks < TICKS:
    torch.ones(3).sum()
signal.setitimer(signal.ITIMER_REAL, 0)
print(raised, "errors,", wrong, "wrong results")
