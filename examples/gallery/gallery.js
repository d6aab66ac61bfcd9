// Shows each example beside its source; both come from the same file.

const nav = document.querySelector("nav");

for (const article of document.querySelectorAll("article")) {
  const { id } = article;
  const address = `${id}.html`;
  const title = article.querySelector("h2").textContent;

  const link = document.createElement("a");
  link.href = `#${id}`;
  link.textContent = title;
  nav.append(link);

  const frame = document.createElement("iframe");
  frame.title = title;
  frame.loading = "lazy";
  frame.src = address;

  const source = document.createElement("pre");
  source.tabIndex = 0;
  source.setAttribute("role", "region");
  source.setAttribute("aria-label", `Source of “${title}”`);
  const whole = document.createElement("a");
  whole.href = address;
  whole.textContent = "Open separately";
  article.append(frame, source, whole);
  void show(address, source);
}

async function show(address, place) {
  const answer = await fetch(address);
  place.textContent = answer.ok ? await answer.text() : `${address}: ${answer.statusText}`;
}
