# The toolchain of a foreign machine, included by cmake/ARCH.cmake: Debian's cross compiler, the libraries that ./dev
# has unpacked into build/sysroot-ARCH, and qemu-user to run what is built.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_CXX_COMPILER ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu-g++)
set(CMAKE_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../build/sysroot-${CMAKE_SYSTEM_PROCESSOR})
cmake_path(NORMAL_PATH CMAKE_SYSROOT)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${CMAKE_SYSTEM_PROCESSOR} -L ${CMAKE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(libraries ${CMAKE_SYSROOT}/usr)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${libraries}/lib/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu/pkgconfig:${libraries}/share/pkgconfig)
