# `cmake --install`: the libraries, the headers, the command, and a package for find_package(shunt).
include(exports)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/shunt)

# Headers: those of include/shunt; of an op family, the one that is named after it, src/ops/FAMILY/FAMILY.h; and those for backends.
file(GLOB public_headers CONFIGURE_DEPENDS include/shunt/*.h)
file(GLOB family_headers CONFIGURE_DEPENDS src/ops/*/*.h)
install(DIRECTORY include/shunt DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
foreach(header IN LISTS family_headers)
  cmake_path(GET header STEM name)
  if(header MATCHES "/${name}/${name}\\.h$")
    list(APPEND public_headers ${header})
    install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/shunt/ops)
  endif()
endforeach()
list(TRANSFORM SHUNT_BACKEND_HEADER_NAMES PREPEND ${CMAKE_BINARY_DIR}/include/shunt/backend/ OUTPUT_VARIABLE backend_headers)
install(FILES ${backend_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/shunt/backend)
install(FILES ${CMAKE_BINARY_DIR}/include/shunt/abi_token.h ${CMAKE_BINARY_DIR}/include/shunt/expression_ops.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/shunt)

# The command and the libraries. Plugins are installed by shunt_add_backend().
set(plugins "")
foreach(name IN LISTS SHUNT_PLUGIN_BACKENDS)
  if(TARGET shunt-backend-${name})
    list(APPEND plugins shunt-backend-${name})
  endif()
endforeach()
shunt_install_library(shunt
  HEADERS ${public_headers} ${SHUNT_BACKEND_HEADERS} USERS shunt_command shunt_conformance ${plugins} NEEDS tl::expected)
shunt_install_library(shunt_conformance HEADERS ${public_headers} USERS shunt_command NEEDS shunt_installed)
target_include_directories(shunt_installed INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS shunt_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
set_target_properties(shunt_command PROPERTIES
  INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
install(FILES models/stories.gguf DESTINATION ${CMAKE_INSTALL_LIBDIR}/shunt)

# What a backend outside the tree is built with.
add_library(shunt_backend_installed INTERFACE)
set_target_properties(shunt_backend_installed PROPERTIES EXPORT_NAME backend)
target_link_libraries(shunt_backend_installed INTERFACE shunt_installed fmt::fmt Threads::Threads)
install(TARGETS shunt_backend_installed EXPORT shunt-backend-targets)
install(FILES cmake/plugin.cmake cmake/plugin.map DESTINATION ${package_folder})

install(EXPORT shunt-targets NAMESPACE shunt:: DESTINATION ${package_folder})
install(EXPORT shunt-backend-targets NAMESPACE shunt:: DESTINATION ${package_folder})
math(EXPR fmt_next_version "${fmt_VERSION_MAJOR} + 1")
configure_file(cmake/shunt-config.cmake.in ${CMAKE_BINARY_DIR}/shunt-config.cmake @ONLY)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/shunt-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/shunt-config.cmake ${CMAKE_BINARY_DIR}/shunt-config-version.cmake
        DESTINATION ${package_folder})
