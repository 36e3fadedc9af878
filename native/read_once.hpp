// Reads of memory that another thread may be writing to.
#pragma once

namespace chamfer {

// The compiler may not read it again later, when it could be another number than the one that was checked.
template <typename T>
inline T read_once(const T* at) {
    return __atomic_load_n(at, __ATOMIC_RELAXED);
}

}  // namespace chamfer
