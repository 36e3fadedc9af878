// How busy the machine is.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace chamfer {

// Number of threads on this machine, of any process, that are running or waiting for a core now; 0 if that is unknown.
inline int runnable_threads() {
#ifdef __linux__
    static const int file = ::open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    char text[128] = {};
    if (::pread(file, text, sizeof text - 1, 0) <= 0) return 0;
    const char* slash = std::strchr(text, '/');  // "0.20 0.18 0.12 1/80 11206": 1 of 80 threads is runnable
    if (!slash) return 0;
    const char* number = slash;
    while (number > text && number[-1] != ' ') --number;
    return std::atoi(number);
#else
    return 0;
#endif
}

inline int cores_of_machine() {
    static const auto cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
    return cores;
}

}  // namespace chamfer
