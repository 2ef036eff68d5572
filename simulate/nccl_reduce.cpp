#include "nccl_reduce.h"

#include <stdint.h>
#include <string.h>

namespace device_audit::simulate {
namespace {

float of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

// Each kind of number: how it is stored, and in what type it is computed.
template <typename Number>
struct Plain {
  using Stored = Number;
  using Computed = Number;
  static Computed read(Stored value) { return value; }
  static Stored write(Computed value) { return value; }
};

struct Brain {
  using Stored = uint16_t;
  using Computed = float;
  static float read(uint16_t value) { return of_bits(uint32_t(value) << 16); }
  static uint16_t write(float value) {
    const uint32_t bits = bits_of(value);
    if (value != value) return uint16_t(bits >> 16 | 0x40);
    return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);  // to the nearest, ties to even
  }
};

struct Half {
  using Stored = uint16_t;
  using Computed = float;
  static float read(uint16_t value) {
    const uint32_t sign = uint32_t(value & 0x8000) << 16, rest = value & 0x7fff;
    if (rest >= 0x7c00) return of_bits(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    // Scaling by a power of two makes normal numbers of what is subnormal in half precision.
    return of_bits(sign | bits_of(of_bits(rest << 13) * 0x1p112f));
  }
  static uint16_t write(float value) {
    const uint32_t bits = bits_of(value);
    const uint16_t sign = uint16_t(bits >> 16 & 0x8000);
    const uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return sign | 0x7e00;
    if (magnitude >= 0x477ff000) return sign | 0x7c00;
    // Adding and taking away a number of the right size rounds, to even, at the last place that half precision has.
    const float absolute = of_bits(magnitude);
    if (magnitude < 0x38800000) return uint16_t(sign | (bits_of(absolute + 0.5f) - bits_of(0.5f)));
    const uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    return uint16_t(sign | (rounded - 0x38000000) >> 13);
  }
};

template <typename Kind>
void reduce_numbers(void* result, const void* const* sources, int ranks, size_t count, Reduction reduction) {
  using Stored = typename Kind::Stored;
  using Computed = typename Kind::Computed;
  auto* results = static_cast<Stored*>(result);
  const auto value = [&](int rank, size_t i) {
    const Computed read = Kind::read(static_cast<const Stored*>(sources[rank])[i]);
    return reduction.factor == 1 ? read : Computed(read * Computed(reduction.factor));
  };
  for (size_t i = 0; i < count; ++i) {
    Computed combined = value(0, i);
    for (int rank = 1; rank < ranks; ++rank) {
      const Computed next = value(rank, i);
      switch (reduction.operation) {
        case ncclProd:
          combined = Computed(combined * next);
          break;
        case ncclMax:
          combined = next > combined ? next : combined;
          break;
        case ncclMin:
          combined = next < combined ? next : combined;
          break;
        default:  // ncclSum, ncclAvg
          combined = Computed(combined + next);
      }
    }
    results[i] = Kind::write(reduction.operation == ncclAvg ? Computed(combined / Computed(ranks)) : combined);
  }
}

template <typename Kind>
double number_as_double(const void* value) {
  return double(Kind::read(*static_cast<const typename Kind::Stored*>(value)));
}

using Reduce = void (*)(void*, const void* const*, int, size_t, Reduction);

struct Type {
  size_t bytes;
  Reduce reduce;  // null: cannot be reduced
  double (*as_double)(const void*);
};

template <typename Kind>
constexpr Type of{sizeof(typename Kind::Stored), reduce_numbers<Kind>, number_as_double<Kind>};

// In the order of ncclDataType_t.
constexpr Type types[] = {
    of<Plain<int8_t>>,
    of<Plain<uint8_t>>,
    of<Plain<int32_t>>,
    of<Plain<uint32_t>>,
    of<Plain<int64_t>>,
    of<Plain<uint64_t>>,
    of<Half>,
    of<Plain<float>>,
    of<Plain<double>>,
    of<Brain>,
    {1, nullptr, nullptr},
    {1, nullptr, nullptr},
};

bool is_type(ncclDataType_t type) {
  return unsigned(type) < sizeof types / sizeof *types;
}

}  // namespace

size_t bytes_of(ncclDataType_t type) {
  return is_type(type) ? types[type].bytes : 0;
}

bool reducible(ncclDataType_t type) {
  return is_type(type) && types[type].reduce;
}

double as_double(const void* value, ncclDataType_t type) {
  return types[type].as_double(value);
}

void reduce(void* result, const void* const* sources, int ranks, size_t count, ncclDataType_t type,
            Reduction reduction) {
  types[type].reduce(result, sources, ranks, count, reduction);
}

}  // namespace device_audit::simulate
