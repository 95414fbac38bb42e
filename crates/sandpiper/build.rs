//! Has the binary built again when a file comes to the folders it embeds, or
//! goes: what the compiler sees of them is only the files it has embedded.

fn main() {
    for folder in ["languages", "images"] {
        println!("cargo:rerun-if-changed=../../{folder}");
    }
}
