// Operators for which the audit has a finding on any machine: a meta tensor stands for the one on another device.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <c10/util/Exception.h>

struct Mixed {
  at::Tensor cpu = at::ones({2, 2});
  at::Tensor meta = at::empty({2, 2}, at::device(at::kMeta));

  // Runs, and its result on the CPU is not what it claims: `invalid` in aten::mm.
  void run() const {
    at::Tensor result = at::empty({2, 2});
    at::mm_out(result, cpu, meta);
  }

  // Raises "Expected all tensors to be on the same device": `mismatch` in aten::add.
  void raise() const { at::add(cpu, meta); }
};
