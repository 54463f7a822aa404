# make_pocl FOLDER: puts PoCL, an OpenCL driver for the processor, into FOLDER, once, and sets
# OCL_ICD_VENDORS, which the OpenCL loader reads. It comes out of Debian's packages, of which nothing is
# installed, so that the device is there only for those who set the variable: 40 MB to fetch, 65 without
# LLVM. Where they cannot be had, it says why and returns 1.
make_pocl() {
    local folder
    mkdir -p "$1"
    folder=$(cd "$1" && pwd)
    # One that was moved, or not finished, is made again.
    if [ "$(cat "$folder/ready" 2>/dev/null)" != "$folder" ]; then
        rm -rf "$folder"
        mkdir -p "$folder/debs" "$folder/vendors"
        if ! { fetch_pocl "$folder" && unpack_pocl "$folder"; } >"$folder/log" 2>&1; then
            echo "no PoCL, so the tests of OpenCL skip themselves: $(tail -n 1 "$folder/log")"
            return 1
        fi
        echo "$folder" >"$folder/ready"
    fi
    export OCL_ICD_VENDORS=$folder/vendors
}

# Fetches what an installation would bring. Only where the lists of packages are missing must it be root.
fetch_pocl() {
    local packages try="apt-get install -s --no-install-recommends pocl-opencl-icd"
    packages=$($try || { apt-get update -qq && $try; }) || return 1
    packages=$(awk '$1 == "Inst" {print $2}' <<<"$packages")
    # shellcheck disable=SC2086
    (cd "$1/debs" && apt-get download $packages)
}

# Unpacks the packages, and makes a library that needs PoCL's and says where that lies, because no other
# way to say so is without effect on other programs.
unpack_pocl() {
    local deb name path
    for deb in "$1"/debs/*.deb; do
        dpkg -x "$deb" "$1/root" || return 1
    done
    rm -r "$1/debs"
    name=$(cat "$1"/root/etc/OpenCL/vendors/pocl.icd)
    path=$(find "$1/root" -name "${name##*/}" | grep .) || return 1
    gcc -shared -o "${path%/*}/here.so" -Wl,--no-as-needed,--disable-new-dtags,-rpath,"${path%/*}" "$path" || return 1
    echo "${path%/*}/here.so" >"$1/vendors/pocl.icd"
}
