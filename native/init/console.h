#pragma once

namespace workspace::init {

/** Prints a line on the kernel's console, starting with `workspace-init: `. */
[[gnu::format(printf, 1, 2)]] void report(const char* format, ...);

/** Reports that this VM cannot start, in a line that starts with `workspace-init: FAULT `, and turns it off. */
[[noreturn, gnu::format(printf, 1, 2)]] void fail(const char* format, ...);

/** Whether the kernel's command line contains this argument. */
bool hasKernelArgument(const char* argument);

}  // namespace workspace::init
