# The headers beside include/shunt that a backend outside the tree may include, as <shunt/backend/NAME.h>. In the tree they stay in their
# folders and include each other by those; the copies in build/include/shunt/backend, which are installed, include each other as
# "shunt/backend/NAME.h". They may include nothing else of ours but public headers: configuring fails otherwise.
set(backend_headers
  base/aligned_bytes.h base/ceil_div.h base/cpu_cores.h base/cpu_topology.h base/dynamic_library.h
  base/machine_description.h
  graph/op.h graph/storage_users.h graph/tensor_values.h
  memory/hazards.h memory/planner.h
  device/backend_options.h device/host_buffer.h device/kernel_table.h device/range.h device/sync_stream.h
  device/upload_ring.h)
# All of the support library but its own parts.
file(GLOB support_headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/src/backend_support/*.h)
list(REMOVE_ITEM support_headers backend_support/seats.h)
list(APPEND backend_headers ${support_headers})

set(SHUNT_BACKEND_HEADERS "")       # where they are in the tree
set(SHUNT_BACKEND_HEADER_NAMES "")  # in build/include/shunt/backend
foreach(header IN LISTS backend_headers)
  cmake_path(GET header FILENAME name)
  if(name IN_LIST SHUNT_BACKEND_HEADER_NAMES)
    message(FATAL_ERROR "Two headers for backends are called ${name} (cmake/backend_headers.cmake)")
  endif()
  list(APPEND SHUNT_BACKEND_HEADER_NAMES ${name})
  list(APPEND SHUNT_BACKEND_HEADERS ${PROJECT_SOURCE_DIR}/src/${header})
  file(READ ${PROJECT_SOURCE_DIR}/src/${header} text)
  string(REGEX MATCHALL "#include \"[^\"]*\"" includes "${text}")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "#include \"(.*)\"" "\\1" included "${include}")
    if(included MATCHES "^shunt/")
      continue()
    endif()
    if(NOT included IN_LIST backend_headers)
      message(FATAL_ERROR "src/${header} is installed for backends, but \"${included}\", which it includes, is not "
                          "(cmake/backend_headers.cmake)")
    endif()
    cmake_path(GET included FILENAME name)
    string(REPLACE "${include}" "#include \"shunt/backend/${name}\"" text "${text}")
  endforeach()
  cmake_path(GET header FILENAME name)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/include/shunt/backend/${name} CONTENT "${text}" @ONLY)
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${SHUNT_BACKEND_HEADERS})
