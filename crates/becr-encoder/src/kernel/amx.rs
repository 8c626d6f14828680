//! The int8 product on AMX, Intel's matrix unit: tiles of 16 × 16 sums, 64 bytes deep, the integers of
//! [`product8`](super::product8) at several times its speed.
//!
//! The intrinsics are not stable yet, so the few instructions are written as assembly. A tile register is configured
//! at the start of a product and released at its end; between the two no other code runs on this thread that knows of
//! tiles. The kernel saves tiles across context switches once the process has asked for them.

use super::dots;
use super::lanes::{Avx512, Lanes};
use super::product8::{PANEL, Product8, product8, scale_out};
use std::arch::asm;
use std::sync::LazyLock;

/// Rows and columns of a tile of sums.
const TILE: usize = 16;
/// Bytes of a row of a tile.
const DEPTH: usize = 64;

/// Whether the processor has AMX for bytes and the kernel lets this process use it. Asked once.
pub(super) fn available() -> bool {
    static AVAILABLE: LazyLock<bool> = LazyLock::new(|| has_tiles() && permitted());
    *AVAILABLE
}

/// CPUID leaf 7: bit 24 of EDX is AMX-TILE, bit 25 AMX-INT8; the vector code beside it needs VNNI.
fn has_tiles() -> bool {
    if !is_x86_feature_detected!("avx512vnni") {
        return false;
    }
    let leaf = std::arch::x86_64::__cpuid_count(7, 0);
    leaf.edx & (0b11 << 24) == 0b11 << 24
}

/// Asks Linux for the tile registers, `arch_prctl(ARCH_REQ_XCOMP_PERM, XTILEDATA)`: they are off by default, because
/// they make every thread's saved state 8 KiB larger.
#[cfg(target_os = "linux")]
fn permitted() -> bool {
    const ARCH_PRCTL: i64 = 158;
    const REQUEST_PERMISSION: i64 = 0x1023;
    const TILE_DATA: i64 = 18;
    let answer: i64;
    // SAFETY: the call changes nothing but what this process may use; the kernel clobbers rcx and r11.
    unsafe {
        asm!("syscall", inlateout("rax") ARCH_PRCTL => answer, in("rdi") REQUEST_PERMISSION, in("rsi") TILE_DATA,
            lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    answer == 0
}

#[cfg(not(target_os = "linux"))]
fn permitted() -> bool {
    false
}

/// What `ldtilecfg` reads: palette 1 and the shape of each of the eight tiles.
#[repr(C, align(64))]
struct TileConfig {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

/// All tiles full: 16 rows of 64 bytes.
static FULL_TILES: TileConfig = TileConfig {
    palette: 1,
    start_row: 0,
    reserved: [0; 14],
    row_bytes: [64, 64, 64, 64, 64, 64, 64, 64, 0, 0, 0, 0, 0, 0, 0, 0],
    rows: [16, 16, 16, 16, 16, 16, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0],
};

/// Sums of 32 rows and columns.
#[repr(C, align(64))]
struct Sums([i32; PANEL * 2 * TILE]);

/// # Safety
///
/// [`available`] was true, and the pointers of `p` reach as far as its sizes say.
#[target_feature(enable = "avx512f,avx512vnni")]
pub(super) unsafe fn product_amx(p: &Product8) {
    // Whole tiles of 32 rows here; the rest goes to the vector code, whose integers are the same.
    let whole = p.rows - p.rows % (2 * TILE);
    if whole > 0 {
        asm!("ldtilecfg [{}]", in(reg) &raw const FULL_TILES, options(nostack));
        let mut sums = Sums([0; PANEL * 2 * TILE]);
        for first_col in (0..p.cols).step_by(PANEL) {
            let b = p.b.add(first_col * p.inner);
            for first_row in (0..whole).step_by(2 * TILE) {
                tile_sums(p.a.add(first_row * p.inner), b, p.inner, &mut sums);
                for row in (0..2 * TILE).step_by(8) {
                    let from = sums.0.as_ptr().add(row * PANEL);
                    let floats: [[Avx512; 2]; 8] = std::array::from_fn(|i| {
                        [
                            Avx512::of_integers(from.add(i * PANEL)),
                            Avx512::of_integers(from.add(i * PANEL + Avx512::WIDTH)),
                        ]
                    });
                    scale_out(p, first_row + row, first_col, floats);
                }
            }
        }
        asm!("tilerelease", options(nostack, nomem));
    }
    if whole < p.rows {
        let rest = Product8 {
            rows: p.rows - whole,
            a: p.a.add(whole * p.inner),
            a_scale: p.a_scale.add(whole),
            a_lowest: p.a_lowest.add(whole),
            out: p.out.add(whole * p.out_stride),
            ..*p
        };
        product8::<dots::Avx512VnniDots>(&rest);
    }
}

/// Sums of 32 rows with one panel, `inner` bytes deep: two by two tiles.
///
/// # Safety
///
/// Tiles are configured; `a` reaches 32 rows of `inner` bytes, `b` a panel as deep.
#[inline(always)]
unsafe fn tile_sums(a: *const u8, b: *const i8, inner: usize, sums: &mut Sums) {
    // The whole loop is one piece of assembly: tile registers cannot be kept from one piece to the next.
    asm!(
        "tilezero tmm0",
        "tilezero tmm1",
        "tilezero tmm2",
        "tilezero tmm3",
        "2:",
        "tileloadd tmm4, [{a} + {a_stride}]",
        "tileloadd tmm6, [{b} + {line}]",
        "tileloadd tmm7, [{b} + {line} + 64]",
        "tdpbusd tmm0, tmm4, tmm6",
        "tileloadd tmm5, [{below} + {a_stride}]",
        "tdpbusd tmm1, tmm4, tmm7",
        "tdpbusd tmm2, tmm5, tmm6",
        "tdpbusd tmm3, tmm5, tmm7",
        "add {a}, 64",
        "add {below}, 64",
        "add {b}, 2048",
        "dec {steps}",
        "jnz 2b",
        "tilestored [{out} + {line}], tmm0",
        "tilestored [{out} + {line} + 64], tmm1",
        "tilestored [{out} + {line} + 2048], tmm2",
        "tilestored [{out} + {line} + 2112], tmm3",
        a = inout(reg) a => _,
        below = inout(reg) a.add(TILE * inner) => _,
        b = inout(reg) b => _,
        steps = inout(reg) inner / DEPTH => _,
        a_stride = in(reg) inner,
        line = in(reg) 4 * PANEL,
        out = in(reg) sums.0.as_mut_ptr(),
        out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
        out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
        options(nostack)
    );
}
