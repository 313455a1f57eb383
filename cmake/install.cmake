# `cmake --install`: the library, the headers, the command, and a package for find_package(shunt).
include(CMakePackageConfigHelpers)
install(TARGETS shunt EXPORT shunt-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS shunt_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
set_target_properties(shunt_command PROPERTIES
  INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY include/shunt DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# Of an op family, only the header that is named after it is public: src/ops/FAMILY/FAMILY.h.
file(GLOB family_headers CONFIGURE_DEPENDS src/ops/*/*.h)
foreach(header IN LISTS family_headers)
  cmake_path(GET header STEM name)
  if(header MATCHES "/${name}/${name}\\.h$")
    install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/shunt/ops)
  endif()
endforeach()
install(FILES models/stories.gguf DESTINATION ${CMAKE_INSTALL_LIBDIR}/shunt)
install(EXPORT shunt-targets NAMESPACE shunt:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/shunt)
file(WRITE ${CMAKE_BINARY_DIR}/shunt-config.cmake
"include(CMakeFindDependencyMacro)
find_dependency(tl-expected)
include(\${CMAKE_CURRENT_LIST_DIR}/shunt-targets.cmake)
")
write_basic_package_version_file(${CMAKE_BINARY_DIR}/shunt-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/shunt-config.cmake ${CMAKE_BINARY_DIR}/shunt-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/shunt)
