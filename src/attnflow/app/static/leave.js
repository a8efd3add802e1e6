// Leaving with something: the address, a program, a picture, the run as a file.

const $ = (id) => document.getElementById(id);

export function leave({ page, stage, fragment, clean, say, busy, copied, remember }) {
  const shownState = () => JSON.stringify({ ...clean(page.state), step: page.step });

  async function post(path) {
    const answer = await fetch(path, { method: "POST", body: shownState(), headers: { "content-type": "application/json" } });
    if (!answer.ok) throw new Error((await answer.text()).trim());
    return answer;
  }

  async function attempt(work) {
    try { await work(); } catch (error) { say(error.message || "The server does not answer; try again."); } finally { busy(null); }
  }

  $("link").onclick = () => {
    remember(true);
    copied(`${location.origin}${location.pathname}#${fragment()}`, "The address of this picture is copied.");
  };

  $("python").onclick = () => attempt(async () => {
    page.program = await (await post("python")).text();
    await copied(page.program, "A program that computes exactly this is copied.");
  });

  $("netcdf").onclick = () => attempt(async () => {
    busy("writing the run …");
    save(await (await post("run.nc")).blob(), "run.nc");
  });

  $("png").onclick = () => attempt(async () => {
    const blob = await picture(stage, $("view").textContent, $("clock").textContent);
    save(blob, "tokens.png");
  });
}

function save(blob, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// The stage as it is, with a line of text below.
export function picture(stage, left, right) {
  stage.dirty = true;
  stage.draw(); // in this turn of the event loop the drawing buffer is still there
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);
  const { width, height } = stage.geometry();
  const ratio = stage.canvas.width / width;
  const canvas = Object.assign(document.createElement("canvas"), { width: stage.canvas.width, height: stage.canvas.height });
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.drawImage(stage.canvas, 0, 0, width, height);
  pen.fillStyle = css("--faint");
  pen.font = "13px system-ui, sans-serif";
  pen.fillText(left, 6, height - 8);
  pen.textAlign = "right";
  pen.fillText(right, width - 6, height - 8);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
