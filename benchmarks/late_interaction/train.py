"""Train the model with the trainer of sentence-transformers. A run that was stopped continues from its last checkpoint.

PYTHONPATH=benchmarks:build/late-interaction-packages python -m late_interaction.train [--minutes 10] [--device cuda]
"""

import argparse
import hashlib
import json
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import torch
from datasets import Dataset  # type: ignore[import-not-found]  # packages.txt is installed in a folder of its own
from sentence_transformers import MultiVectorEncoder, MultiVectorEncoderTrainer, MultiVectorEncoderTrainingArguments
from transformers import PrinterCallback, TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint

from chamfer.encode.bfloat16 import has_bfloat16
from chamfer.encode.checkpoint import quiet_libraries
from chamfer.reproduce.environment import environment
from chamfer.support.devices import AUTO, chosen_device
from chamfer.support.files import write_json
from late_interaction.loss import BothWays, accuracy
from late_interaction.model import MARKERS, untrained
from late_interaction.pairs import PAIRS, RECORD

CHECKPOINTS = "checkpoints"
RESULT = RECORD.with_name("training.json")
HELD_OUT, HELD_OUT_BATCH = 512, 128
SAMPLE = 250  # pairs whose token states give the principal directions
WARM_UP = 0.1  # share of the steps in which the learning rate grows; then it falls to 0
LOG_EVERY, SAVE_EVERY = 10, 100


def main() -> None:
    """Train, save the model as a checkpoint that ``Encoder.load`` reads, and write a record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=Path, default=PAIRS, help="pairs that late_interaction.pairs has made")
    parser.add_argument("--out", type=Path, default=PAIRS.parent, help="folder of the model and its checkpoints")
    parser.add_argument("--record", type=Path, default=RESULT)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--batch", type=int, default=96, help="pairs per step, each a negative of all others")
    parser.add_argument("--document-length", type=int, default=80, help="tokens of a document that training reads")
    parser.add_argument("--rate", type=float, default=5e-5, help="learning rate")
    parser.add_argument("--minutes", type=float, help="stop after this time; the same command continues")
    parser.add_argument("--device", default=AUTO)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    device, content = chosen_device(arguments.device), arguments.pairs.read_bytes()
    train, held_out = split_by_package([json.loads(line) for line in content.decode().splitlines()])
    settings = {
        "pairs": {"train": len(train), "held_out": len(held_out), "sha256": hashlib.sha256(content).hexdigest()},
        **{name: getattr(arguments, name) for name in ("steps", "batch", "document_length", "rate", "seed")},
    }
    start, checkpoints = arguments.out / "start.json", arguments.out / CHECKPOINTS
    last = get_last_checkpoint(str(checkpoints)) if checkpoints.is_dir() else None  # type: ignore[no-untyped-call]
    began = json.loads(start.read_text()) if last else {"settings": settings}
    if began["settings"] != settings:
        raise SystemExit(f"{arguments.out} holds a model with other settings; remove it, or give another --out")
    with quiet_libraries():
        if last:
            model = MultiVectorEncoder(last, device=device)
        else:
            torch.manual_seed(arguments.seed)
            model = untrained(*columns(train[:SAMPLE]), device)
            began["accuracy"] = accuracy(model, *columns(held_out), HELD_OUT_BATCH)
            write_json(start, began)
            print(f"{len(train):,} pairs; in-batch accuracy before training {began['accuracy']:.3f}", flush=True)
        watch = Watch(arguments.minutes)
        trainer = MultiVectorEncoderTrainer(
            model,
            training_arguments(arguments, device),
            train_dataset=Dataset.from_dict(dict(zip(MARKERS, columns(train), strict=True))),
            loss=BothWays(model),
            callbacks=[watch],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train(resume_from_checkpoint=last)
        model.save_pretrained(str(arguments.out), create_model_card=False)
        # What is measured is what was saved.
        saved = MultiVectorEncoder(str(arguments.out), device=device)
        found = accuracy(saved, *columns(held_out), HELD_OUT_BATCH)
    losses = {entry["step"]: entry["loss"] for entry in trainer.state.log_history if "loss" in entry}
    record = {
        "environment": {**environment(), "device": torch.cuda.get_device_name() if device != "cpu" else device},
        **settings,
        "steps_done": trainer.state.global_step,
        "seconds": round(watch.seconds, 1),
        "bfloat16": trainer.args.bf16,
        "held_out_accuracy": {"batch": HELD_OUT_BATCH, "before": began["accuracy"], "after": found},
        "losses": losses,
    }
    write_json(arguments.record, record)
    print(f"in-batch accuracy {found:.3f} after {trainer.state.global_step} steps; the model is in {arguments.out}")


def training_arguments(arguments: argparse.Namespace, device: str) -> MultiVectorEncoderTrainingArguments:
    """The settings of the trainer; those that are not named here are its defaults."""
    return MultiVectorEncoderTrainingArguments(
        output_dir=str(arguments.out / CHECKPOINTS),
        max_steps=arguments.steps,
        per_device_train_batch_size=arguments.batch,
        dataloader_drop_last=True,
        learning_rate=arguments.rate,
        warmup_steps=WARM_UP,
        prompts=MARKERS,
        max_length={"document": arguments.document_length},
        bf16=has_bfloat16(device),
        use_cpu=device == "cpu",
        seed=arguments.seed,
        logging_steps=LOG_EVERY,
        save_steps=SAVE_EVERY,
        save_total_limit=1,
        report_to="none",
        disable_tqdm=True,
    )


class Watch(TrainerCallback):
    """Prints the loss, counts the seconds of all runs together, and stops a run that has had its minutes.

    Args:
        minutes: time limit of this run.
    """

    def __init__(self, minutes: float | None) -> None:
        self.seconds = self._before = 0.0
        self._began = time.monotonic()
        self._limit = float("inf") if minutes is None else minutes * 60

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object
    ) -> None:
        """Start the clock where the last run stopped it."""
        self._began = time.monotonic()
        self.seconds = self._before = max((entry.get("seconds", 0.0) for entry in state.log_history), default=0.0)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object) -> None:
        """Stop with a checkpoint if the time is up."""
        passed = time.monotonic() - self._began
        self.seconds = self._before + passed
        if passed > self._limit:
            control.should_log = control.should_save = control.should_training_stop = True

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, float] | None = None,
        **_: object,
    ) -> None:
        """Print the loss, and note the time in what checkpoints keep."""
        if logs and "loss" in logs:
            state.log_history[-1]["seconds"] = self.seconds
            print(
                f"step {state.global_step} of {state.max_steps}: loss {logs['loss']:.3f}, {self.seconds:.0f} s",
                flush=True,
            )


def split_by_package(pairs: Sequence[dict[str, str]]) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Pairs to train on, and pairs of other packages, because a package repeats itself."""
    sizes, left_out = Counter(pair["package"] for pair in pairs), set[str]()
    for package in sorted(sizes, key=lambda name: hashlib.sha256(name.encode()).digest()):
        if sizes[package] <= HELD_OUT and sum(sizes[name] for name in left_out) < HELD_OUT:
            left_out.add(package)
    train = [pair for pair in pairs if pair["package"] not in left_out]
    return train, [pair for pair in pairs if pair["package"] in left_out][:HELD_OUT]


def columns(pairs: Sequence[dict[str, str]]) -> tuple[list[str], list[str]]:
    """The queries of pairs, and their documents."""
    return [pair["query"] for pair in pairs], [pair["document"] for pair in pairs]


if __name__ == "__main__":
    main()
