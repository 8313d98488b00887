{
  # "yes" if libdeflate is available.
  "variables": { "libdeflate%": "<!(scripts/has-libdeflate)" },
  "targets": [
    {
      "target_name": "workspace_native",
      "sources": [
        "native/archive/extent.cc",
        "native/archive/file.cc",
        "native/archive/inflate.cc",
        "native/archive/nested.cc",
        "native/binding/addon.cc",
        "native/binding/background.cc",
        "native/binding/deallocate.cc",
        "native/binding/dial-loopback.cc",
        "native/binding/log-store.cc",
        "native/binding/list-files.cc",
        "native/binding/lock-file.cc",
        "native/binding/match-names.cc",
        "native/binding/pipe.cc",
        "native/binding/prioritize.cc",
        "native/binding/pty.cc",
        "native/binding/read-classes.cc",
        "native/binding/read-envelopes.cc",
        "native/binding/read-extents.cc",
        "native/binding/remove-tree.cc",
        "native/binding/tcp-options.cc",
        "native/binding/spawn.cc",
        "native/binding/system-error.cc",
        "native/binding/vsock.cc",
        "native/binding/walk-trees.cc",
        "native/classfile/annotation-reader.cc",
        "native/classfile/attribute-kind.cc",
        "native/classfile/class-attributes.cc",
        "native/classfile/class-reader.cc",
        "native/classfile/code-reader.cc",
        "native/classfile/code-walk.cc",
        "native/classfile/constant-pool.cc",
        "native/classfile/descriptor-table.cc",
        "native/classfile/facts.cc",
        "native/classfile/member-reader.cc",
        "native/classfile/modified-utf8.cc",
        "native/classfile/signature.cc",
        "native/classfile/string-table.cc",
        "native/digest/build-digest.cc",
        "native/digest/digest-names.cc",
        "native/digest/method-handles.cc",
        "native/digest/string-pool.cc",
        "native/disk/beneath.cc",
        "native/disk/counted-again.cc",
        "native/disk/deallocate.cc",
        "native/disk/directory-reader.cc",
        "native/disk/directory.cc",
        "native/disk/extent-memory.cc",
        "native/disk/file-extents.cc",
        "native/disk/list-files.cc",
        "native/disk/lock-file.cc",
        "native/disk/packed-extents.cc",
        "native/disk/remove-tree.cc",
        "native/disk/stat-entry.cc",
        "native/disk/walk-trees.cc",
        "native/log/file-sink.cc",
        "native/log/source.cc",
        "native/log/store.cc",
        "native/log/unfinished-line.cc",
        "native/notify/notify.cc",
        "native/pipe/pipe.cc",
        "native/netns/dial.cc",
        "native/pty/pty.cc",
        "native/relay/direction.cc",
        "native/relay/relay.cc",
        "native/schedule/idle-io.cc",
        "native/schedule/schedule.cc",
        "native/spawn/exit-watch.cc",
        "native/spawn/start.cc",
        "native/tcp/options.cc",
        "native/text/wildcard.cc",
        "native/vsock/envelope.cc",
        "native/vsock/json-text.cc",
        "native/vsock/msgpack.cc",
        "native/vsock/socket.cc"
      ],
      # As system headers, so that -Wextra reports only our own code.
      "cflags_cc": [
        "-std=c++20", "-Wall", "-Wextra", "-Werror",
        "-isystem", "<!(node -p \"require('path').relative('build', require('path').dirname(require.resolve('node-addon-api')))\")"
      ],
      # Exceptions: the standard library throws when memory or threads are exhausted, which must reach JS as an error.
      "cflags_cc!": ["-fno-exceptions", "-std=gnu++17", "-std=gnu++20"],
      "defines": ["NAPI_VERSION=9", "NAPI_CPP_EXCEPTIONS"],
      "conditions": [
        ["libdeflate=='yes'", { "defines": ["WORKSPACE_LIBDEFLATE"] }],
        # The static library, so that a prebuilt addon needs none at run time.
        ["libdeflate=='yes' and OS=='linux'", { "libraries": ["-l:libdeflate.a"] }],
        ["libdeflate=='yes' and OS!='linux'", { "libraries": ["-ldeflate"] }]
      ],
      "xcode_settings": {
        "GCC_ENABLE_CPP_EXCEPTIONS": "YES",
        "CLANG_CXX_LANGUAGE_STANDARD": "c++20",
        "MACOSX_DEPLOYMENT_TARGET": "12.0",
        "OTHER_CPLUSPLUSFLAGS": [
          "-Wall", "-Wextra", "-Werror",
          "-isystem", "<!(node -p \"require('path').relative('build', require('path').dirname(require.resolve('node-addon-api')))\")"
        ]
      }
    }
  ],
  "conditions": [
    # Programs inside containers and VMs, with unknown libraries: static, or not built.
    ["OS=='linux' and \"<!(scripts/has-static-libc)\"=='yes'", {
      "targets": [
        {
          "target_name": "workspace-run",
          "type": "executable",
          "sources": [
            "native/run/accounts.cc",
            "native/run/control.cc",
            "native/run/main.cc",
            "native/run/meeting.cc",
            "native/run/program.cc",
            "native/run/request.cc",
            "native/schedule/schedule.cc"
          ],
          "include_dirs!": ["<(node_root_dir)/include/node"],
          "cflags_cc": ["-std=c++20", "-Os", "-Wall", "-Wextra", "-Werror", "-fno-exceptions", "-fno-rtti"],
          "cflags_cc!": ["-std=gnu++17", "-std=gnu++20", "-O3"],
          "cflags": ["-ffunction-sections", "-fdata-sections"],
          "cflags!": ["-fPIC"],
          "ldflags": ["-static", "-no-pie", "-s", "-Wl,--gc-sections"],
          "ldflags!": ["-rdynamic"]
        },
        # Runs inside virtual machines, with unknown libraries too.
        {
          "target_name": "workspace-start",
          "type": "executable",
          "sources": [
            "native/run/program.cc",
            "native/start/address.cc",
            "native/start/main.cc"
          ],
          "include_dirs!": ["<(node_root_dir)/include/node"],
          "cflags_cc": ["-std=c++20", "-Os", "-Wall", "-Wextra", "-Werror", "-fno-exceptions", "-fno-rtti"],
          "cflags_cc!": ["-std=gnu++17", "-std=gnu++20", "-O3"],
          "cflags": ["-ffunction-sections", "-fdata-sections"],
          "cflags!": ["-fPIC"],
          "ldflags": ["-static", "-no-pie", "-s", "-Wl,--gc-sections"],
          "ldflags!": ["-rdynamic"]
        },
        # Filters between a virtual machine and its user-mode network.
        {
          "target_name": "workspace-net-filter",
          "type": "executable",
          "sources": [
            "native/net-filter/host-locator.cc",
            "native/net-filter/judge.cc",
            "native/net-filter/main.cc",
            "native/net-filter/policy.cc",
            "native/net-filter/relay.cc"
          ],
          "include_dirs!": ["<(node_root_dir)/include/node"],
          "cflags_cc": ["-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror", "-fno-exceptions", "-fno-rtti"],
          "cflags_cc!": ["-std=gnu++17", "-std=gnu++20", "-O3"],
          "cflags": ["-ffunction-sections", "-fdata-sections"],
          "cflags!": ["-fPIC"],
          "ldflags": ["-static", "-no-pie", "-s", "-Wl,--gc-sections"],
          "ldflags!": ["-rdynamic"]
        },
        # Executes a program that reads hostile bytes, without everything that reading does not need.
        {
          "target_name": "workspace-confine",
          "type": "executable",
          "sources": [
            "native/confine/call-filter.cc",
            "native/confine/landlock.cc",
            "native/confine/main.cc"
          ],
          "include_dirs!": ["<(node_root_dir)/include/node"],
          "cflags_cc": ["-std=c++20", "-Os", "-Wall", "-Wextra", "-Werror", "-fno-exceptions", "-fno-rtti"],
          "cflags_cc!": ["-std=gnu++17", "-std=gnu++20", "-O3"],
          "cflags": ["-ffunction-sections", "-fdata-sections"],
          "cflags!": ["-fPIC"],
          "ldflags": ["-static", "-no-pie", "-s", "-Wl,--gc-sections"],
          "ldflags!": ["-rdynamic"]
        },
        {
          "target_name": "workspace-init",
          "type": "executable",
          "sources": [
            "native/init/console.cc",
            "native/init/disks.cc",
            "native/init/main.cc",
            "native/init/modules.cc",
            "native/init/root.cc",
            "native/init/upper.cc"
          ],
          "include_dirs!": ["<(node_root_dir)/include/node"],
          "cflags_cc": ["-std=c++20", "-Os", "-Wall", "-Wextra", "-Werror", "-fno-exceptions", "-fno-rtti"],
          "cflags_cc!": ["-std=gnu++17", "-std=gnu++20", "-O3"],
          "cflags": ["-ffunction-sections", "-fdata-sections"],
          "cflags!": ["-fPIC"],
          "ldflags": ["-static", "-no-pie", "-s", "-Wl,--gc-sections"],
          "ldflags!": ["-rdynamic"]
        }
      ]
    }]
  ]
}
